-- Documents of statements and exports, in sealed chunks (libs/documents). A write has its own ID: what reads
-- the document before it was replaced is not mixed with the new bytes.
CREATE TABLE document_writes (
  write_id uuid PRIMARY KEY,
  key text NOT NULL,
  is_whole boolean NOT NULL DEFAULT false,
  begun_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX document_writes_by_key ON document_writes (key);

CREATE TABLE document_chunks (
  write_id uuid NOT NULL REFERENCES document_writes ON DELETE CASCADE,
  index integer NOT NULL,
  sealed bytea STORAGE EXTERNAL NOT NULL,
  PRIMARY KEY (write_id, index)
);

CREATE TABLE documents (
  key text PRIMARY KEY,
  write_id uuid NOT NULL REFERENCES document_writes,
  size_bytes bigint NOT NULL,
  sha256 bytea NOT NULL,
  written_at timestamptz(3) NOT NULL DEFAULT now()
);
