-- Webhook deliveries: one row per event and endpoint, written by webhook-dispatcher. Not a read model:
-- it cannot be rebuilt, for it says what clients have been told.

CREATE TABLE webhook_deliveries (
  -- UUIDv5 of event and endpoint: the same message handled twice makes one row.
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  -- Null for events that are not of a payment.
  payment_id uuid,
  occurred_at timestamptz(3) NOT NULL,
  -- The envelope as it is signed and sent at every attempt, byte by byte.
  body text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'canceled')),
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  next_attempt_at timestamptz(3) NOT NULL,
  window_ends_at timestamptz(3) NOT NULL,
  -- While in the future, a dispatcher is at work on it; one that died leaves a lease that ends.
  leased_until timestamptz(3),
  lease_owner uuid,
  -- GREATEST ignores nulls.
  due_at timestamptz(3) NOT NULL GENERATED ALWAYS AS (GREATEST(next_attempt_at, leased_until)) STORED,
  last_status integer,
  last_error text,
  finished_at timestamptz(3),
  -- Why it ended as failed or canceled.
  finished_reason text CHECK (finished_reason IN ('refused', 'window_ended', 'endpoint_deleted')),
  CHECK ((state = 'pending') = (finished_at IS NULL))
);

-- By endpoint first, so that a dispatcher passes over the backlog of one that hangs without reading it.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'pending';

-- Every row is updated once at least and leaves the partial index: clean up often.
ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE webhook_attempts (
  delivery_id uuid NOT NULL,
  -- 1 for the first. Two dispatchers may make the same one when a lease ended too early.
  attempt integer NOT NULL,
  id uuid NOT NULL,
  at timestamptz(3) NOT NULL,
  -- Null when no response arrived.
  status integer,
  duration_ms integer NOT NULL,
  error text,
  -- The first KiB of the response.
  response_excerpt text,
  PRIMARY KEY (delivery_id, attempt, id)
);
