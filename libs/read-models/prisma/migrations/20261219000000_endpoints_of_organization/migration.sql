-- migrate:no-transaction
-- Deleted endpoints stay in the table, and nothing limits how many an organization makes and deletes. Lists, exports and
-- erasures of an organization must not read those of others.
CREATE INDEX CONCURRENTLY webhook_endpoints_of_organization ON webhook_endpoints (organization_id, endpoint_id);
