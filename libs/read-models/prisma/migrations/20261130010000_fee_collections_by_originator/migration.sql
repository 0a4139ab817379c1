-- The erasure of an originator looks for the collections from it.
CREATE INDEX fee_collections_by_originator ON fee_collections (organization_id, originator_id);
