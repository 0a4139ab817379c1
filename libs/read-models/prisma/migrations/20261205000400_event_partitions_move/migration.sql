-- Moves a full partition of the log to another tablespace, while the service runs (docs/scaling.md). ALTER TABLE … SET
-- TABLESPACE was rejected: it locks the partition for the whole copy, and every append looks for its stream there.
--
-- Nothing changes the events of a full partition. So they are copied without a lock, and then the copy takes the place of
-- the original in one short transaction. It waits a second at a time for that, and tries again every three seconds, for
-- three minutes. Before that it waits up to an hour for the transactions that are older than the copy: their snapshots
-- would find the copy empty. Stopped at any point, it leaves the partition as it was, and possibly a copy, which the next call replaces.
CREATE PROCEDURE move_event_partition("partition" text, "tablespace" text)
LANGUAGE plpgsql AS $$
DECLARE
  copied text := "partition" || '_moved';
  head   bigint;
  span   record;
  rows_of_original bigint;
  rows_of_copy     bigint;
  older  text[];
BEGIN
  SELECT h."position" INTO STRICT head FROM event_log_head h;
  SELECT p.from_position, p.to_position INTO span
    FROM event_partitions p WHERE p.partition = move_event_partition."partition";
  IF NOT FOUND THEN
    RAISE EXCEPTION '% is no partition of the log', "partition" USING HINT = 'SELECT * FROM event_partitions';
  END IF;
  IF span.to_position - 1 > head THEN
    RAISE EXCEPTION '% is not full: its last position is %, and the log is at %', "partition", span.to_position - 1, head;
  END IF;

  EXECUTE format('DROP TABLE IF EXISTS %I', copied);
  EXECUTE format('CREATE TABLE %I (LIKE events) WITH (toast_tuple_target = 8160) TABLESPACE %I', copied, "tablespace");
  EXECUTE format('INSERT INTO %I SELECT * FROM %I ORDER BY "position"', copied, "partition");
  GET DIAGNOSTICS rows_of_copy = ROW_COUNT;
  EXECUTE format(
    'ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY ("position") USING INDEX TABLESPACE %I,
       ADD CONSTRAINT %I UNIQUE (stream_id, revision) USING INDEX TABLESPACE %I,
       ADD CONSTRAINT events_bound CHECK ("position" >= %s AND "position" < %s)',
    copied, copied || '_pkey', "tablespace", copied || '_stream_id_revision_key', "tablespace",
    coalesce(span.from_position, 1), span.to_position);
  COMMIT;
  EXECUTE format('ANALYZE %I', copied);
  EXECUTE format('SELECT count(*) FROM %I', "partition") INTO rows_of_original;
  IF rows_of_original <> rows_of_copy THEN
    RAISE EXCEPTION '% has % events, and its copy has %', "partition", rows_of_original, rows_of_copy;
  END IF;
  COMMIT;

  SELECT array_agg(l.virtualxid) INTO older FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
   WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database() AND a.pid <> pg_backend_pid()
     AND coalesce(a.backend_type, 'client backend') = 'client backend';
  FOR seconds IN 0 .. 3600 LOOP
    EXIT WHEN NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'virtualxid' AND l.granted AND l.virtualxid = ANY (older));
    IF seconds = 3600 THEN
      RAISE EXCEPTION 'a transaction that is older than the copy of % has not ended', "partition"
        USING HINT = 'SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start';
    END IF;
    COMMIT;
    PERFORM pg_sleep(1);
  END LOOP;

  FOR tries IN 1 .. 60 LOOP
    BEGIN
      SET LOCAL lock_timeout = '1s';
      LOCK TABLE events IN ACCESS EXCLUSIVE MODE;
      EXECUTE format('ALTER TABLE events DETACH PARTITION %I', "partition");
      EXECUTE format('DROP TABLE %I', "partition");
      EXECUTE format('ALTER TABLE %I RENAME TO %I', copied, "partition");
      EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', "partition", copied || '_pkey', "partition" || '_pkey');
      EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', "partition",
        copied || '_stream_id_revision_key', "partition" || '_stream_id_revision_key');
      EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', "partition",
        coalesce(span.from_position::text, 'MINVALUE'), span.to_position);
      EXECUTE format('ALTER TABLE %I DROP CONSTRAINT events_bound', "partition");
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF tries = 60 THEN
        RAISE;
      END IF;
    END;
    COMMIT;
    PERFORM pg_sleep(3);
  END LOOP;
END
$$;
