-- When each participant list was last imported, with or without changes: an old list sends payments over rails that
-- the bank has left.
CREATE TABLE routing_directory_imports (
  kind        text PRIMARY KEY CHECK (kind IN ('fedach', 'fedwire', 'rtp', 'fednow')),
  imported_at timestamptz NOT NULL
);
-- Of earlier imports the last change is known.
INSERT INTO routing_directory_imports (kind, imported_at)
  SELECT kind, max(changed_at) FROM routing_directory GROUP BY kind;
