-- migrate:no-transaction
-- In place of webhook_deliveries_by_endpoint. When the queue is empty all indexes look alike to the planner, and it read
-- all of that index to find deliveries by their ids. This one serves only those who name the endpoint.
CREATE INDEX CONCURRENTLY webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, created_at DESC, id DESC)
  WHERE endpoint_id IS NOT NULL;
