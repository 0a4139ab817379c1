-- A part of an archived file may speak of two parties. Then it is sealed twice, and lost with either key.
ALTER TABLE rail_file_parts ADD COLUMN second_owner text COLLATE "C";

-- When the parts that may speak of anybody are destroyed. NULL in a file without such parts.
ALTER TABLE rail_files ADD COLUMN blank_at timestamptz(3);
CREATE INDEX rail_files_to_blank ON rail_files (blank_at) WHERE blank_at IS NOT NULL;

-- The contact's bank is personal data. Inquiries take it from the archived message, which is sealed for the contact.
UPDATE iso_transfers SET details = details - 'instructedAgent' WHERE details ? 'instructedAgent';
