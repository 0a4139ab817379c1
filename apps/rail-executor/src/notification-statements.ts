/**
 * The statements of NotificationTable. A plan that was made while the tables were empty is kept, and may read all rows of
 * a feed. Rows are found by ANY or with LIMIT, so that a statement does this once and not again for each row.
 */
export const placeSql = `
  SELECT coalesce((SELECT cursor FROM rail_feed_checkpoint WHERE feed = $1), $2) AS cursor,
         (SELECT count(*) FROM (
            SELECT FROM rail_notified_references WHERE feed = $1 AND tries = 0 LIMIT $3) untried) >= $3
           AS "isBackedUp",
         EXISTS (SELECT FROM rail_notified_references WHERE feed = $1 AND tries = 0 AND due_at <= now())
           OR EXISTS (
             SELECT FROM rail_notified_references WHERE feed = $1 AND tries > 0 AND due_at <= now())
           AS "isDue",
         (extract(epoch FROM least(
            (SELECT min(due_at) FROM rail_notified_references
              WHERE feed = $1 AND tries = 0 AND due_at > now() AND due_at < 'infinity'),
            (SELECT min(due_at) FROM rail_notified_references
              WHERE feed = $1 AND tries > 0 AND due_at > now() AND due_at < 'infinity'))
            - now()) * 1000)::float8 AS "nextDueInMs"`;

/**
 * The row lock of `moved` makes executors store pages one at a time, so arrivals are numbered in the feed's
 * order. Nothing is kept when the checkpoint is elsewhere by now.
 */
export const keepSql = `
  WITH moved AS (
    INSERT INTO rail_feed_checkpoint AS c (feed, cursor, updated_at)
    SELECT $1::text, $3::text, now() WHERE $2::text = $4::text
        OR EXISTS (SELECT FROM rail_feed_checkpoint WHERE feed = $1)
    ON CONFLICT (feed) DO UPDATE SET cursor = excluded.cursor, updated_at = excluded.updated_at
     WHERE c.cursor = $2
    RETURNING feed
  ), kept AS (
    INSERT INTO rail_notifications
        (feed, sequence, reference, type, return_reason_code, at, detail, received_at)
      SELECT moved.feed, n.sequence, n.reference, n.type, n.code, n.at, n.detail, now()
        FROM moved, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[],
               $10::jsonb[]) WITH ORDINALITY AS n (sequence, reference, type, code, at, detail, place)
       ORDER BY n.place
    ON CONFLICT (feed, sequence) DO NOTHING
    RETURNING reference
  )
  INSERT INTO rail_notified_references (feed, reference, since, due_at)
    SELECT DISTINCT $1, reference, now(), now() FROM kept ORDER BY reference
  ON CONFLICT (feed, reference) DO UPDATE SET since = now(), due_at = now(), tries = 0`;

export const addSql = `
  WITH kept AS (
    INSERT INTO rail_notifications
        (feed, sequence, reference, type, return_reason_code, at, detail, received_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, now())
    ON CONFLICT (feed, sequence) DO NOTHING
    RETURNING reference
  )
  INSERT INTO rail_notified_references (feed, reference, since, due_at)
    SELECT $1, reference, now(), now() FROM kept
  ON CONFLICT (feed, reference) DO UPDATE SET since = now(), due_at = now(), tries = 0`;

export const claimSql = `
  WITH untried AS (
    SELECT reference FROM rail_notified_references
     WHERE feed = $5 AND tries = 0 AND due_at <= now() AND (leased_until IS NULL OR leased_until <= now())
     ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), retried AS (
    SELECT reference FROM rail_notified_references
     WHERE feed = $5 AND tries > 0 AND due_at <= now() AND (leased_until IS NULL OR leased_until <= now())
     ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  UPDATE rail_notified_references r
     SET lease = $3, leased_until = now() + $4 * interval '1 millisecond'
   WHERE r.feed = $5 AND r.reference = ANY (ARRAY(
     SELECT reference FROM untried UNION ALL SELECT reference FROM retried))
  RETURNING r.reference, r.tries`;

export const notificationsSql = `
  SELECT n.sequence, n.reference, n.type, n.return_reason_code, n.at, n.detail
    FROM unnest($1::text[]) AS r (reference)
   CROSS JOIN LATERAL (
     SELECT * FROM rail_notifications o WHERE o.feed = $3 AND o.reference = r.reference
      ORDER BY o.contradicts, o.arrival LIMIT $2
   ) n
   ORDER BY n.contradicts, n.arrival`;

export const leasedSql = `
  SELECT reference FROM rail_notified_references
   WHERE feed = $3 AND lease = $1 AND reference = ANY ($2::text[]) ORDER BY reference FOR UPDATE`;

export const deleteSql = `
  DELETE FROM rail_notifications WHERE feed = $1 AND sequence = ANY ($2::text[])`;

export const unmatchedSql = `
  UPDATE rail_notifications n SET reason = u.reason, contradicts = u.contradicts
    FROM unnest($2::text[], $3::text[], $4::boolean[]) AS u (sequence, reason, contradicts)
   WHERE n.feed = $1 AND n.sequence = ANY ($2::text[]) AND n.sequence = u.sequence`;

export const forgetSql = `
  DELETE FROM rail_notified_references r
   WHERE r.feed = $2 AND r.reference = ANY ($1::text[])
     AND (SELECT true FROM rail_notifications n WHERE n.feed = $2 AND n.reference = r.reference
           ORDER BY n.contradicts, n.arrival LIMIT 1) IS NULL`;

/** References with notifications beyond this turn, or new during it, are due at once. */
export const releaseSql = `
  UPDATE rail_notified_references r
     SET lease = NULL, leased_until = NULL,
         tries = CASE WHEN o.ended = 'away' OR o.is_more THEN r.tries ELSE r.tries + 1 END,
         due_at = CASE
           WHEN o.is_more THEN now()
           WHEN o.ended = 'away' THEN now() + $6 * interval '1 millisecond'
           WHEN now() - r.since > $5 * interval '1 millisecond' THEN 'infinity'
           ELSE now() + least(greatest(now() - r.since, $3 * interval '1 millisecond'),
                              $4 * interval '1 millisecond') END
    FROM (SELECT t.reference, t.ended, t.ended = 'tried' AND coalesce((
                   SELECT NOT n.contradicts FROM rail_notifications n
                    WHERE n.feed = $7 AND n.reference = t.reference
                    ORDER BY n.contradicts, n.arrival LIMIT 1), false) AS is_more
            FROM unnest($1::text[], $2::text[]) AS t (reference, ended)) o
   WHERE r.feed = $7 AND r.reference = ANY ($1::text[]) AND r.reference = o.reference`;

export const expectedSql = `
  SELECT coalesce((SELECT cursor FROM rail_feed_checkpoint WHERE feed = $1), $2) AS cursor,
         ARRAY(SELECT reference FROM rail_notified_references
                WHERE feed = $1 AND since > now() - $3 * interval '1 millisecond' LIMIT $4) AS references`;
