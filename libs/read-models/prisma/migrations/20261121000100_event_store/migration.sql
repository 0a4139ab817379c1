-- The event store on PostgreSQL (libs/event-store, adapter `postgres`).
--
-- What always holds: positions are 1, 2, 3, … without gaps, in the order of commit. The head row is
-- locked before positions are given out and released by the commit, so whoever sees position n sees
-- everything before it. Sequences were rejected: they leave gaps and commit out of order.

CREATE TABLE "events" (
  "position"  bigint  NOT NULL,
  "stream_id" text COLLATE "C" NOT NULL,
  "revision"  integer NOT NULL,
  "id"        uuid    NOT NULL,
  "type"      text COLLATE "C" NOT NULL,
  -- json, not jsonb: the exact text is kept (the audit hashes it), and \u0000 is legal in it.
  "data"      json    NOT NULL,
  "metadata"  json    NOT NULL,
  CONSTRAINT "events_pkey" PRIMARY KEY ("position"),
  CONSTRAINT "events_stream_id_revision_key" UNIQUE ("stream_id", "revision")
);

-- One row: the position of the last event.
CREATE TABLE "event_log_head" (
  "one_row"  boolean NOT NULL DEFAULT true,
  "position" bigint  NOT NULL,
  CONSTRAINT "event_log_head_pkey" PRIMARY KEY ("one_row"),
  CONSTRAINT "event_log_head_one_row_check" CHECK ("one_row")
);
INSERT INTO "event_log_head" ("position") VALUES (0);

-- Appends a batch in one transaction. Each append of it stands or falls alone: a conflict in one
-- writes nothing of it and leaves its neighbours be.
--
-- proposals: one object an event, in order: a = number of the append, s = stream, x = the revision
-- the stream must have (-1: no stream), n = events of the append, o = which of them this is (from 0),
-- i = id, t = type. At most one append a stream.
-- data, metadata: the JSON of the same events in the same order, one a line. They are apart because a
-- function that takes JSON to pieces refuses the \u0000 and lone surrogates that json itself keeps.
--
-- Answers one row an append: done, the stream's last revision after it (or, when not done, the one
-- found: -1 for no stream), and the position of its last event (null when not done).
CREATE FUNCTION "append_events"(proposals json, data text, metadata text)
RETURNS TABLE ("append" integer, "done" boolean, "at_revision" bigint, "at_position" bigint)
LANGUAGE plpgsql AS $$
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
      WHERE e."stream_id" = p.s ORDER BY e."revision" DESC LIMIT 1
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
      ON e."stream_id" = p.s AND e."revision" = p.x + 1 + p.o AND e."id" = p.i
    WHERE p.a = f.a
  ) again
  WHERE f.current <> f.x;

  -- Delivered by the commit. Subscribers read the log; the payload only tells how far it goes.
  PERFORM pg_notify('pis_events', h."position"::text)
  FROM "event_log_head" h WHERE h."position" > head;
END
$$;
