-- ANALYZE copies samples of a text column into pg_statistic. There they outlive the row, so an erased name would
-- stay. No query filters by these columns, so no plan needs their samples. New days: partitions.ts does the same.

ALTER TABLE webhook_fan_outs ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE webhook_deliveries ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE webhook_finished_deliveries ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE webhook_attempts ALTER COLUMN response_excerpt SET STATISTICS 0;
ALTER TABLE dead_letters ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE deferred_messages ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE stream_snapshots ALTER COLUMN state SET STATISTICS 0;

-- The samples that are there already go with a change of the column's type, which changes nothing here.
-- A column that a view shows cannot be changed, so the view is made again as it was.
DO $$
DECLARE
  shown text := pg_get_viewdef('webhook_delivery_records'::regclass);
BEGIN
  DROP VIEW webhook_delivery_records;
  ALTER TABLE webhook_fan_outs ALTER COLUMN body TYPE text;
  ALTER TABLE webhook_deliveries ALTER COLUMN body TYPE text;
  ALTER TABLE webhook_finished_deliveries ALTER COLUMN body TYPE text;
  EXECUTE 'CREATE VIEW webhook_delivery_records AS ' || shown;
END $$;
ALTER TABLE webhook_attempts ALTER COLUMN response_excerpt TYPE text;
ALTER TABLE dead_letters ALTER COLUMN value TYPE text;
ALTER TABLE deferred_messages ALTER COLUMN value TYPE text;
ALTER TABLE stream_snapshots ALTER COLUMN state TYPE text;
