-- The executors of this release follow collections as well, from a place of their own. Those of releases without collections
-- go on with theirs while they are replaced, and pass over collections.
INSERT INTO rail_log_place (reader, position, event_id, stream_id, revision, updated_at)
  SELECT 'open-transfers', position, event_id, stream_id, revision, now() FROM rail_log_place WHERE reader = 'open-payments';
