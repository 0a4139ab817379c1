-- Replays past their retention are deleted in batches: each must find its own without reading the table.
CREATE INDEX webhook_replays_ended ON webhook_replays (finished_at) WHERE finished_at IS NOT NULL;
