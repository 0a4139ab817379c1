-- Imported keys are looked for by their digest alone, too: an import asks which ones it knows.
DROP INDEX data_keys_imported;
CREATE UNIQUE INDEX data_keys_imported ON data_keys (v1_digest, owner) WHERE v1_digest IS NOT NULL;
