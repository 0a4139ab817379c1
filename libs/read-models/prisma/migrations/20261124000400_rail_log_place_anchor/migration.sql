-- The event at the position, so that another log is recognized. Null in a row of an older release.
ALTER TABLE rail_log_place
  ADD COLUMN event_id uuid,
  ADD COLUMN stream_id text COLLATE "C",
  ADD COLUMN revision integer;
