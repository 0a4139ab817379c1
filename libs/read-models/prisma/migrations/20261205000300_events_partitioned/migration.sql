-- The log in partitions, by position, so that old ones can move to other storage (docs/scaling.md).
--
-- What always holds: a position is unique, by the primary key of the whole table. A revision of a stream is unique,
-- because append_events reads the last one under the lock of the head, after every append before it has committed.
-- The key (stream_id, revision) of each partition is a second line of defense within the partition. `pis audit verify`
-- checks it over the whole log.

ALTER TABLE events RENAME TO events_1;
ALTER TABLE events_1 RENAME CONSTRAINT events_pkey TO events_1_pkey;
ALTER TABLE events_1 RENAME CONSTRAINT events_stream_id_revision_key TO events_1_stream_id_revision_key;

CREATE TABLE events (
  "position"  bigint  NOT NULL,
  "stream_id" text COLLATE "C" NOT NULL,
  "revision"  integer NOT NULL,
  "id"        uuid    NOT NULL,
  "type"      text COLLATE "C" NOT NULL,
  "data"      json    NOT NULL,
  "metadata"  json    NOT NULL,
  CONSTRAINT events_pkey PRIMARY KEY ("position")
) PARTITION BY RANGE ("position");

-- The constraint that was validated before spares the scan. Then the bound of the partition replaces it.
DO $$
DECLARE
  bound text;
  owner oid;
  granted record;
BEGIN
  SELECT substring(pg_get_constraintdef(oid) FROM '[0-9]+') INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'events_1'::regclass AND conname = 'events_bound' AND convalidated;
  EXECUTE format('ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (MINVALUE) TO (%s)', bound);
  ALTER TABLE events_1 DROP CONSTRAINT events_bound;

  -- Who could use the table before can use it now.
  SELECT relowner INTO STRICT owner FROM pg_class WHERE oid = 'events_1'::regclass;
  EXECUTE format('ALTER TABLE events OWNER TO %s', owner::regrole);
  FOR granted IN
    SELECT a.privilege_type AS privilege, a.is_grantable,
           CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'events_1'::regclass AND a.grantee <> owner
  LOOP
    EXECUTE format('GRANT %s ON events TO %s%s', granted.privilege, granted.grantee,
      CASE WHEN granted.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;
END $$;

-- The partitions of the log in their order. to_position is exclusive; from_position of the first is null.
CREATE VIEW event_partitions AS
  SELECT c.relname::text AS "partition", bound.from_position, bound.to_position,
         coalesce(t.spcname, 'pg_default')::text AS "tablespace"
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
    CROSS JOIN LATERAL (
      SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''')::bigint AS from_position,
             substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''')::bigint AS to_position
    ) bound
   WHERE i.inhparent = 'events'::regclass
   ORDER BY bound.to_position;

-- Makes partitions until one is empty that begins more than events_ahead events behind the head of the log. Answers the
-- number of empty ones. Any process may call it at any time. Appends and reads go on: ATTACH needs no lock that they
-- wait for, unlike CREATE TABLE … PARTITION OF. It waits a second at most for another one that does the same.
CREATE FUNCTION prepare_event_partitions(events_ahead bigint, partition_events bigint DEFAULT 50000000)
RETURNS integer
LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
DECLARE
  head    bigint;
  emptied integer;
  ends    bigint;
  made    text;
BEGIN
  FOR turn IN 1 .. 1000 LOOP
    SELECT h."position" INTO STRICT head FROM event_log_head h;
    SELECT count(*) FILTER (WHERE p.from_position > head), max(p.to_position)
      INTO STRICT emptied, ends FROM event_partitions p;
    IF EXISTS (SELECT FROM event_partitions p WHERE p.from_position > head + events_ahead) THEN
      EXIT;
    END IF;
    IF turn = 1 THEN
      -- What another process has made meanwhile is seen by the next turn.
      PERFORM pg_advisory_xact_lock(72707419);
      CONTINUE;
    END IF;
    SELECT 'events_' || max(substring(p.partition FROM '\d+$')::int) + 1 INTO STRICT made FROM event_partitions p;
    EXECUTE format(
      'CREATE TABLE %I (LIKE events, CONSTRAINT %I PRIMARY KEY ("position"), CONSTRAINT %I UNIQUE (stream_id, revision))
         WITH (toast_tuple_target = 8160)',
      made, made || '_pkey', made || '_stream_id_revision_key');
    EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', made, ends, ends + partition_events);
  END LOOP;
  RETURN emptied;
END
$$;

SELECT prepare_event_partitions(0);

-- As before (20261121000100_event_store), and "position" <= head: partitions behind the head are not even opened.
CREATE OR REPLACE FUNCTION "append_events"(proposals json, data text, metadata text)
RETURNS TABLE ("append" integer, "done" boolean, "at_revision" bigint, "at_position" bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  head bigint;
BEGIN
  -- A statement of its own: the next one then takes its snapshot after the lock is held.
  SELECT h."position" INTO STRICT head FROM "event_log_head" h FOR UPDATE;

  RETURN QUERY
  WITH proposed AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
      json_to_recordset(proposals)
        AS (a integer, s text, x bigint, n integer, o integer, i uuid, t text),
      string_to_table(data, E'\n'),
      string_to_table(metadata, E'\n')
    ) AS p(a, s, x, n, o, i, t, d, m)
  ), found AS MATERIALIZED (
    SELECT p.a, p.s, p.x, p.n, coalesce((
      SELECT e."revision" FROM "events" e
      WHERE e."stream_id" = p.s AND e."position" <= head ORDER BY e."revision" DESC LIMIT 1
    ), -1) AS current
    FROM proposed p WHERE p.o = 0
  ), accepted AS MATERIALIZED (
    SELECT head + row_number() OVER (ORDER BY p.a, p.o) AS at, p.*
    FROM proposed p JOIN found f ON f.a = p.a WHERE f.current = f.x
  ), written AS (
    INSERT INTO "events" ("position", "stream_id", "revision", "id", "type", "data", "metadata")
    SELECT w.at, w.s, w.x + 1 + w.o, w.i, w.t, w.d::json, w.m::json FROM accepted w ORDER BY w.at
  ), advanced AS (
    UPDATE "event_log_head" SET "position" = (SELECT max(w.at) FROM accepted w)
    WHERE EXISTS (SELECT FROM accepted)
  )
  SELECT w.a, true, w.x + w.n, w.at FROM accepted w WHERE w.o = w.n - 1
  UNION ALL
  -- Not where expected. The same ids at the same place are the same append, done before.
  SELECT f.a, again.count = f.n, CASE WHEN again.count = f.n THEN f.x + f.n ELSE f.current END,
         CASE WHEN again.count = f.n THEN again.last END
  FROM found f CROSS JOIN LATERAL (
    SELECT count(*) AS count, max(e."position") AS last
    FROM proposed p JOIN "events" e
      ON e."stream_id" = p.s AND e."revision" = p.x + 1 + p.o AND e."id" = p.i AND e."position" <= head
    WHERE p.a = f.a
  ) again
  WHERE f.current <> f.x;

  -- Delivered by the commit. Subscribers read the log; the payload only tells how far it goes.
  PERFORM pg_notify('pis_events', h."position"::text)
  FROM "event_log_head" h WHERE h."position" > head;
END
$$;
