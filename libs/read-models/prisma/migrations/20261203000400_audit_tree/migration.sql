-- One row: how far the Merkle tree over the log has come.
CREATE TABLE audit_tree (
  only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  size              bigint NOT NULL DEFAULT 0,
  -- Of the last event read, also of one that is no leaf.
  position          text COLLATE "C" NOT NULL DEFAULT '',
  event_id          uuid,
  verifier_key      text,
  checkpoint_wanted boolean NOT NULL DEFAULT false
);

-- Hashes of complete subtrees of 256^level leaves, 32 bytes each, at most 256 in a row.
CREATE TABLE audit_tiles (
  level          smallint NOT NULL,
  index          bigint NOT NULL,
  -- Of the first leaf, at level 0.
  first_position text COLLATE "C",
  hashes         bytea NOT NULL,
  PRIMARY KEY (level, index)
);
-- Hashes do not compress.
ALTER TABLE audit_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE INDEX audit_tiles_by_position ON audit_tiles (first_position) WHERE level = 0;
