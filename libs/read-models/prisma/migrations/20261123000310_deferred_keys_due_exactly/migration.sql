-- Milliseconds were rounded up as often as down: a key that was due at once was due a moment later.
ALTER TABLE deferred_keys ALTER COLUMN due_at TYPE timestamptz;
