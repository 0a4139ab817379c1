-- An acknowledgement that lists no entry speaks of all payments in the file of ours that it names. Files that were kept
-- before have none; applying one again finds it.
ALTER TABLE rail_files
  ADD COLUMN answered_id uuid,
  ADD CONSTRAINT rail_files_answered_fkey FOREIGN KEY (answered_id) REFERENCES rail_files (id) ON DELETE SET NULL;
CREATE INDEX rail_files_answered ON rail_files (answered_id) WHERE answered_id IS NOT NULL;
