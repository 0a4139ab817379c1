-- Webhook deliveries in two: what is pending, small and busy, and what is finished, by days that are
-- dropped whole. So the cost of a delivery stays the same however many have been made. None of it is a
-- read model: it says what clients have been told, and cannot be rebuilt.

ALTER TABLE webhook_deliveries RENAME TO webhook_deliveries_before;
ALTER TABLE webhook_deliveries_before RENAME CONSTRAINT webhook_deliveries_pkey TO webhook_deliveries_before_pkey;
ALTER INDEX webhook_deliveries_due RENAME TO webhook_deliveries_before_due;
ALTER TABLE webhook_attempts RENAME TO webhook_attempts_before;
ALTER TABLE webhook_attempts_before RENAME CONSTRAINT webhook_attempts_pkey TO webhook_attempts_before_pkey;

-- What has been fanned out, written in the statement that writes its deliveries: a message that comes
-- again after these have finished makes none anew. It also holds the body, once for all endpoints.
CREATE TABLE webhook_fan_outs (
  event_id uuid NOT NULL,
  -- Of the event, hence the same whenever its message comes.
  occurred_at timestamptz(3) NOT NULL,
  organization_id uuid NOT NULL,
  -- The envelope as it is signed and sent, byte by byte. Null when the deliveries hold it themselves,
  -- because the event came so late that its day here may be dropped before they finish.
  body text,
  traceparent text,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (event_id, occurred_at)
) PARTITION BY RANGE (occurred_at);

-- Only what is pending.
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
  -- The envelope, byte by byte; null: the one of webhook_fan_outs. A delivery that is revived or
  -- replayed holds its own, for it outlives the fan-out.
  body text,
  is_replay boolean NOT NULL DEFAULT false,
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
  last_error text
);

-- By endpoint first, so that a dispatcher passes over the backlog of one that hangs without reading it.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at);
CREATE INDEX webhook_deliveries_by_endpoint ON webhook_deliveries (endpoint_id, created_at DESC, id DESC);

-- Every row is inserted and soon deleted: clean up often, whatever the size.
ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE webhook_finished_deliveries (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  payment_id uuid,
  occurred_at timestamptz(3) NOT NULL,
  body text,
  is_replay boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  window_ends_at timestamptz(3) NOT NULL,
  last_status integer,
  last_error text,
  state text NOT NULL CHECK (state IN ('delivered', 'failed', 'canceled')),
  finished_at timestamptz(3) NOT NULL,
  -- Why it ended as failed or canceled.
  finished_reason text CHECK (finished_reason IN ('refused', 'window_ended', 'endpoint_deleted')),
  PRIMARY KEY (id, finished_at)
) PARTITION BY RANGE (finished_at);

CREATE INDEX webhook_finished_deliveries_by_endpoint
  ON webhook_finished_deliveries (endpoint_id, created_at DESC, id DESC);

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
  -- Recorded again after an unknown outcome, an attempt is still one row.
  PRIMARY KEY (delivery_id, at, id)
) PARTITION BY RANGE (at);

-- Days that nobody has made a partition for, because a clock jumped or nobody was there, go here.
CREATE TABLE webhook_fan_outs_default PARTITION OF webhook_fan_outs DEFAULT;
CREATE TABLE webhook_finished_deliveries_default PARTITION OF webhook_finished_deliveries DEFAULT;
CREATE TABLE webhook_attempts_default PARTITION OF webhook_attempts DEFAULT;

-- The dispatcher makes the days to come; these are those until it runs.
DO $$
DECLARE
  parent text;
  day date;
  today date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  FOREACH parent IN ARRAY ARRAY['webhook_fan_outs', 'webhook_finished_deliveries', 'webhook_attempts'] LOOP
    FOR day IN SELECT today + n FROM generate_series(-1, 2) n LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
        parent || '_' || to_char(day, 'YYYYMMDD'), parent, day || ' 00:00:00+00', (day + 1) || ' 00:00:00+00');
    END LOOP;
  END LOOP;
END $$;

-- What a client asks for to be sent again, worked off by the dispatchers.
CREATE TABLE webhook_replays (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  from_at timestamptz(3) NOT NULL,
  to_at timestamptz(3) NOT NULL,
  -- Null: all.
  event_types text[],
  -- The store's last position at the request: the index of events must have come as far before the
  -- replay is complete. Positions compare as bytes.
  through_position text COLLATE "C" NOT NULL,
  -- Where the next page begins; '' at first.
  next_position text COLLATE "C" NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'canceled')),
  events_sent bigint NOT NULL DEFAULT 0,
  requested_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  leased_until timestamptz(3),
  lease_owner uuid,
  CHECK ((state = 'running') = (finished_at IS NULL))
);
CREATE INDEX webhook_replays_running ON webhook_replays (requested_at, id) WHERE state = 'running';
CREATE INDEX webhook_replays_by_endpoint ON webhook_replays (endpoint_id, requested_at DESC, id DESC);

-- All deliveries, as their owner sees them. The join goes away where the body is not asked for, and a
-- page of an endpoint is then a merge of indexes.
CREATE VIEW webhook_delivery_records AS
  SELECT d.id, d.organization_id, d.endpoint_id, d.event_id, d.event_type, d.payment_id, d.occurred_at,
      COALESCE(d.body, f.body) AS body, d.is_replay, d.attempts, d.created_at, d.next_attempt_at,
      d.window_ends_at, d.last_status, d.last_error, d.state, d.finished_at, d.finished_reason
    FROM (
      SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
          is_replay, attempts, created_at, next_attempt_at, window_ends_at, last_status, last_error,
          'pending'::text AS state, NULL::timestamptz(3) AS finished_at, NULL::text AS finished_reason
        FROM webhook_deliveries
      UNION ALL
      SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
          is_replay, attempts, created_at, NULL::timestamptz(3), window_ends_at, last_status, last_error,
          state, finished_at, finished_reason
        FROM webhook_finished_deliveries
    ) d
    LEFT JOIN webhook_fan_outs f ON f.event_id = d.event_id AND f.occurred_at = d.occurred_at;

-- What there is.
INSERT INTO webhook_fan_outs (event_id, occurred_at, organization_id, body, created_at)
  SELECT DISTINCT ON (event_id, occurred_at) event_id, occurred_at, organization_id, NULL, created_at
    FROM webhook_deliveries_before ORDER BY event_id, occurred_at, created_at;
INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
    occurred_at, body, attempts, created_at, next_attempt_at, window_ends_at, leased_until, lease_owner,
    last_status, last_error)
  SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body, attempts,
      created_at, next_attempt_at, window_ends_at, leased_until, lease_owner, last_status, last_error
    FROM webhook_deliveries_before WHERE state = 'pending';
INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
    payment_id, occurred_at, body, attempts, created_at, window_ends_at, last_status, last_error, state,
    finished_at, finished_reason)
  SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body, attempts,
      created_at, window_ends_at, last_status, last_error, state, finished_at, finished_reason
    FROM webhook_deliveries_before WHERE state <> 'pending';
INSERT INTO webhook_attempts (delivery_id, attempt, id, at, status, duration_ms, error, response_excerpt)
  SELECT delivery_id, attempt, id, at, status, duration_ms, error, response_excerpt
    FROM webhook_attempts_before;

DROP TABLE webhook_deliveries_before;
DROP TABLE webhook_attempts_before;
