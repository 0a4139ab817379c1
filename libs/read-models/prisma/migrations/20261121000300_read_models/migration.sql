-- Read models: computed from the event store, masked, disposable (`pis projections rebuild`).
-- Times are timestamptz(3): an event's time has milliseconds, and a keyset cursor that went through
-- a JavaScript Date must find its row again.
-- Columns beside `item` exist to be filtered and sorted by. `item` is json, not jsonb: it keeps the
-- exact text, and jsonb refuses \u0000, which a client may well put into a note.
-- `revision` is of the last event applied: an older event never overwrites a newer one.

CREATE TABLE projection_checkpoints (
  name text PRIMARY KEY,
  position text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE payments (
  payment_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  contact_id uuid,
  status text COLLATE "C" NOT NULL,
  direction text COLLATE "C" NOT NULL,
  payment_rail text COLLATE "C" NOT NULL,
  external_payment_id text COLLATE "C",
  idempotency_key text COLLATE "C",
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL,
  item json NOT NULL
);
-- A list with one filter is one index range, however large the table is.
CREATE INDEX payments_by_time ON payments (organization_id, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_status ON payments (organization_id, status, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_originator ON payments (organization_id, originator_id, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_contact ON payments (organization_id, contact_id, created_at DESC, payment_id DESC)
  WHERE contact_id IS NOT NULL;
CREATE INDEX payments_by_direction ON payments (organization_id, direction, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_rail ON payments (organization_id, payment_rail, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_external_id ON payments (organization_id, external_payment_id, created_at DESC, payment_id DESC)
  WHERE external_payment_id IS NOT NULL;
CREATE INDEX payments_by_idempotency_key ON payments (organization_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE organizations (
  organization_id uuid PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL
);

CREATE TABLE originators (
  originator_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL,
  item json NOT NULL
);
CREATE INDEX originators_by_time ON originators (organization_id, created_at DESC, originator_id DESC);

CREATE TABLE contacts (
  contact_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL,
  item json NOT NULL
);
CREATE INDEX contacts_by_time ON contacts (organization_id, created_at DESC, contact_id DESC);
CREATE INDEX contacts_by_originator ON contacts (organization_id, originator_id, created_at DESC, contact_id DESC);

CREATE TABLE webhook_endpoints (
  endpoint_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3),
  revision integer NOT NULL,
  item json NOT NULL
);
CREATE INDEX webhook_endpoints_by_time ON webhook_endpoints (organization_id, created_at DESC, endpoint_id DESC)
  WHERE deleted_at IS NULL;

CREATE TABLE api_keys (
  api_key_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  key_type text NOT NULL,
  environment text NOT NULL,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL
);
CREATE INDEX api_keys_by_time ON api_keys (organization_id, created_at DESC, api_key_id DESC);
