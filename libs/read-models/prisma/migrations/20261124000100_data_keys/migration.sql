-- The keys under which personal data and secrets are sealed, wrapped under a master key. Losing this table
-- is losing the sealed data: events hold the owner and the version of a key, never the key.
CREATE TABLE data_keys (
  owner text NOT NULL,
  -- From 1 on. Keys imported from events of older releases count from 0 downwards.
  version integer NOT NULL,
  -- Null when the key was destroyed. The row stays: a destroyed owner can get no new key.
  wrapped text,
  -- ID of the master key.
  wrapping_key_id text,
  -- Of an imported key: SHA-256 of the wrapped key inside the events.
  v1_digest text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  destroyed_at timestamptz(3),
  CONSTRAINT data_keys_pkey PRIMARY KEY (owner, version),
  CONSTRAINT data_keys_destroyed_check CHECK (
    (wrapped IS NULL) = (destroyed_at IS NOT NULL)
    AND (wrapped IS NULL) = (wrapping_key_id IS NULL)
  )
);
-- What still depends on a master key.
CREATE INDEX data_keys_by_wrapping_key ON data_keys (wrapping_key_id);
CREATE UNIQUE INDEX data_keys_imported ON data_keys (owner, v1_digest) WHERE v1_digest IS NOT NULL;

CREATE TABLE keyring_state (
  one_row boolean NOT NULL DEFAULT true,
  -- The key that identities of contacts and cursors are derived from, wrapped.
  mac_root text NOT NULL,
  wrapping_key_id text NOT NULL,
  -- The master key that texts in events of older releases may still need; null when there is none.
  v1_key_id text,
  -- Up to where the event store was read for such texts.
  imported_to text NOT NULL DEFAULT '',
  -- Counts destructions of data keys: cached keys are good while it stays the same.
  destructions bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT keyring_state_pkey PRIMARY KEY (one_row),
  CONSTRAINT keyring_state_one_row_check CHECK (one_row)
);
