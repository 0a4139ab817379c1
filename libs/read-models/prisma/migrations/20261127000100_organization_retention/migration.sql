-- How long bank files of an organization's payments are kept. Null: as long as the installation keeps them.
ALTER TABLE organizations ADD COLUMN retention_years integer;
