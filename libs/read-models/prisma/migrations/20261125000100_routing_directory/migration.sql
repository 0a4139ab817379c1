-- The routing directory: which bank has a routing number, and which rails reach it. `pis routing-directory
-- import` fills it from one participant list per rail.
CREATE TABLE routing_directory (
  routing_number text NOT NULL CHECK (routing_number ~ '^[0-9]{9}$'),
  -- The participant list that the row is from.
  kind text NOT NULL CHECK (kind IN ('fedach', 'fedwire', 'rtp', 'fednow')),
  bank_name text NOT NULL,
  -- False for a bank that is listed but takes no transfers over the rail.
  takes_part boolean NOT NULL,
  -- When this row last changed.
  changed_at timestamptz NOT NULL,
  -- When the list no longer had it; null while it has it.
  removed_at timestamptz,
  PRIMARY KEY (routing_number, kind)
);
CREATE INDEX routing_directory_by_kind ON routing_directory (kind) WHERE removed_at IS NULL;

-- One row. Each import raises the generation, so that processes notice that what they remember is old.
CREATE TABLE routing_directory_state (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  generation bigint NOT NULL
);
INSERT INTO routing_directory_state (generation) VALUES (0);
