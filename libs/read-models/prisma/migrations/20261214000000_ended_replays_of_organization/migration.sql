-- migrate:no-transaction
-- The latest ended replays of an organization are kept, up to a number: finds those beyond it without reading all of them.
CREATE INDEX CONCURRENTLY webhook_replays_ended_of ON webhook_replays (organization_id, finished_at DESC, id DESC)
  WHERE finished_at IS NOT NULL;
