-- migrate:no-transaction
-- Entries in files that staff settled as never sent. There are few, and each acknowledgement of a file looks for them.
CREATE INDEX CONCURRENTLY ach_entries_never_sent ON ach_entries (file_id)
  WHERE status = 'rejected' AND rejection IS NULL;
