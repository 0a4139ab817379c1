-- Replays take turns by organization: the organization whose last turn was longest ago is next, however many
-- replays it or the others have. Replays that have ended count too: an organization that asks for many short
-- ones does not go first each time. Numbers instead of times: the clocks of dispatchers differ.
CREATE SEQUENCE webhook_replay_turns;

ALTER TABLE webhook_replays
  -- The place among the replays of its organization; a new one after each turn.
  ADD COLUMN place bigint NOT NULL DEFAULT nextval('webhook_replay_turns'),
  -- Null before the first turn.
  ADD COLUMN last_turn bigint;

CREATE INDEX webhook_replays_turns ON webhook_replays (organization_id, last_turn) WHERE last_turn IS NOT NULL;
DROP INDEX webhook_replays_running;
CREATE INDEX webhook_replays_running ON webhook_replays (organization_id, place) WHERE state = 'running';
