-- Every file and message to and from a bank, with its exact bytes in sealed parts. A part belongs to a party, so that
-- erasing the party erases the part, or to the archive itself.
CREATE TABLE rail_files (
  id         uuid PRIMARY KEY,
  -- The order in which they were kept.
  place      bigint GENERATED ALWAYS AS IDENTITY,
  connection text NOT NULL COLLATE "C",
  rail       text NOT NULL,
  way        text NOT NULL,
  -- What it is: nacha, ack, pacs.008 and so on.
  kind       text NOT NULL,
  name       text NOT NULL,
  -- Of all bytes, as they went over the connection.
  sha256     bytea NOT NULL,
  size_bytes integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT rail_files_place_key UNIQUE (place),
  -- The same bytes over the same connection are the same file.
  CONSTRAINT rail_files_content_key UNIQUE (connection, way, sha256),
  CONSTRAINT rail_files_way_check CHECK (way IN ('out', 'in'))
);
CREATE INDEX rail_files_by_time ON rail_files (created_at);

CREATE TABLE rail_file_parts (
  file_id    uuid NOT NULL,
  -- From 0, in the order of the bytes.
  part       integer NOT NULL,
  -- Whose key seals it.
  owner      text NOT NULL COLLATE "C",
  size_bytes integer NOT NULL,
  sealed     text NOT NULL,
  payment_id uuid,
  CONSTRAINT rail_file_parts_pkey PRIMARY KEY (file_id, part),
  CONSTRAINT rail_file_parts_file_fkey FOREIGN KEY (file_id) REFERENCES rail_files (id) ON DELETE CASCADE
);
CREATE INDEX rail_file_parts_of_payment ON rail_file_parts (payment_id, file_id) WHERE payment_id IS NOT NULL;
-- No query filters by it, and a sample would outlive its row.
ALTER TABLE rail_file_parts ALTER COLUMN sealed SET STATISTICS 0;
