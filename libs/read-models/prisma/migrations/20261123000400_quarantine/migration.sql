-- Streams that a reader of the log holds back, because this release cannot read one of their events.
-- The reader goes on with all other streams. One row per stream, however many of its events follow.
CREATE TABLE quarantined_streams (
  -- A consumer group, or `projection:<name>`.
  reader text NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  -- The first event that is held back, and where it stands.
  from_revision integer NOT NULL,
  position text COLLATE "C" NOT NULL,
  -- The event that cannot be read: this one, or one before it in the stream.
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  reason text NOT NULL,
  held_since timestamptz(3) NOT NULL DEFAULT now(),
  -- When it was last tried again. Null: try it first.
  tried_at timestamptz(3),
  -- Set while what was held back is handed over: done once the reader's checkpoint is there.
  released_to text COLLATE "C",
  PRIMARY KEY (reader, stream_id)
);
CREATE INDEX quarantined_streams_due ON quarantined_streams (reader, tried_at NULLS FIRST)
  WHERE released_to IS NULL;

-- Events that an operator told the readers to pass over. Never deleted: readers need it for every replay.
CREATE TABLE skipped_events (
  event_id uuid PRIMARY KEY,
  stream_id text COLLATE "C" NOT NULL,
  event_type text NOT NULL,
  actor text NOT NULL,
  skipped_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX skipped_events_stream ON skipped_events (stream_id);
