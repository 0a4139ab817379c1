-- Since when an export has waited for PostgreSQL or the store of documents. Null while it makes progress.
ALTER TABLE exports ADD COLUMN held_up_since timestamptz(3);
