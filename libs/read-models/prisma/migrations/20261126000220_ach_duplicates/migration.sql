-- When the bank called the file a duplicate: it recognizes copies, so it processes one of them.
ALTER TABLE ach_files ADD COLUMN duplicate_at timestamptz(3);
