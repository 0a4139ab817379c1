-- IDs of master keys that a rotation replaces or has replaced: none of them becomes active again.
ALTER TABLE keyring_state ADD COLUMN retired_key_ids text[] NOT NULL DEFAULT '{}';

-- A rotation goes through the keys under one master key in the order of their owners.
DROP INDEX data_keys_by_wrapping_key;
CREATE INDEX data_keys_by_wrapping_key ON data_keys (wrapping_key_id, owner, version);
