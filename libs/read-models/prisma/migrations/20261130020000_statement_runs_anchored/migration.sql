-- The last event of the log when the months were done: if the log does not have it, the row is forgotten.
ALTER TABLE statement_runs
  ADD COLUMN position text COLLATE "C",
  ADD COLUMN event_id uuid,
  ADD COLUMN stream_id text,
  ADD COLUMN revision integer;
