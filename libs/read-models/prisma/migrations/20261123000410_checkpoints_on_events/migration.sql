-- A checkpoint keeps the event that it stands on. A log without that event at that place is another one,
-- or was restored from an older backup: reading on would pass over events in silence.
-- Null in checkpoints of older releases, until they are saved next.
ALTER TABLE consumer_checkpoints
  ADD COLUMN event_id uuid,
  ADD COLUMN stream_id text COLLATE "C",
  ADD COLUMN revision integer,
  -- Counts the times that an operator moved the checkpoint: a process that has read another one saves nothing.
  ADD COLUMN generation integer NOT NULL DEFAULT 0,
  -- Over which broker the group went on: 'embedded' or 'kafka'.
  ADD COLUMN transport text NOT NULL DEFAULT 'embedded';
ALTER TABLE projection_checkpoints
  ADD COLUMN event_id uuid,
  ADD COLUMN stream_id text COLLATE "C",
  ADD COLUMN revision integer;
