-- Reads the whole log, while others read and append.
ALTER TABLE events VALIDATE CONSTRAINT events_bound;
