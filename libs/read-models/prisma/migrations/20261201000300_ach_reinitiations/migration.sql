-- Whether the entry presents a debit again that was returned for R01 or R09.
ALTER TABLE ach_entries ADD COLUMN is_reinitiation boolean NOT NULL DEFAULT false;
