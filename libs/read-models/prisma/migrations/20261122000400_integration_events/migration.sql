-- The index of integration events, by which an organization finds its own in the log: for the pull feed
-- and for replays. A read model (projection `events`). No payload: what an event said is computed from
-- its stream again, so that it cannot differ from what was sent.
CREATE TABLE integration_events (
  organization_id uuid NOT NULL,
  -- Of the event store; its order as bytes is the order of the log.
  position text COLLATE "C" NOT NULL,
  event_id uuid NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  stream_id text COLLATE "C" NOT NULL,
  -- In the stream: the payload is the stream folded up to it.
  revision integer NOT NULL,
  -- Null for events that are not of a payment.
  payment_id uuid,
  occurred_at timestamptz(3) NOT NULL,
  PRIMARY KEY (organization_id, position)
);
-- A replay is a range of time.
CREATE INDEX integration_events_by_time ON integration_events (organization_id, occurred_at, position);
-- Whose stream it is: only the first event of a payment says so.
CREATE UNIQUE INDEX integration_events_streams ON integration_events (stream_id) INCLUDE (organization_id)
  WHERE revision = 0;

-- What of an endpoint's replays is still to be sent: a replay goes on only while it is little.
CREATE INDEX webhook_deliveries_replayed ON webhook_deliveries (endpoint_id, next_attempt_at) WHERE is_replay;
