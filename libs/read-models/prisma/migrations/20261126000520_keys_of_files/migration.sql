-- The keys of single archived files, which are deleted after their files.
CREATE INDEX data_keys_of_files ON data_keys (owner COLLATE "C") WHERE owner LIKE 'railArchive:file/%';
