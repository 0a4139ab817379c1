-- The log becomes a table of partitions, by position. The table of today becomes the first partition, without a scan
-- under a lock that others wait for: this constraint says where the partition ends, the next migration validates it
-- while appends go on, and the one after that attaches the table.
--
-- It ends at a whole number of partitions, and has room for what is appended before the last of these migrations.
DO $$
DECLARE
  partition_events CONSTANT bigint := 50000000;
  room             CONSTANT bigint := 10000000;
  head bigint;
BEGIN
  SELECT "position" INTO STRICT head FROM event_log_head;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_bound CHECK ("position" < %s) NOT VALID',
    ((head + room) / partition_events + 1) * partition_events);
END $$;
