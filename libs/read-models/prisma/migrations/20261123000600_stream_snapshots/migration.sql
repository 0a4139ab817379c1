-- States of long streams, so that a process that has just started reads them in bounded time.
-- Disposable: emptying the table costs a longer read of each long stream, once. It holds what the
-- stream's own events hold, personal data included: whoever erases one erases the other.
CREATE TABLE stream_snapshots (
  stream_id text NOT NULL,
  -- Of the code that folded it.
  version text NOT NULL,
  revision integer NOT NULL,
  event_id uuid NOT NULL,
  -- JSON, as text: the code, keyed with the master key, is of exactly these bytes.
  state text NOT NULL,
  code text NOT NULL,
  written_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (stream_id, version)
);
