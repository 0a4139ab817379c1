-- A session keeps the plan of a statement, and the planner looks at the number of pages. A plan that was made while a
-- queue was empty and its file small read the whole queue, also when thousands of rows waited in it. From now on the
-- files keep the size that they had once, and begin with some hundred pages, so that no plan takes them for small.
ALTER TABLE webhook_deliveries SET (vacuum_truncate = off);
ALTER TABLE rail_pending SET (vacuum_truncate = off);

-- Four rows fill a page.
INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, occurred_at, created_at,
    next_attempt_at, window_ends_at)
  SELECT id, id, id, id, repeat('-', 1900), now(), now(), now(), now()
    FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 1200)) AS row;
DELETE FROM webhook_deliveries WHERE event_type = repeat('-', 1900);

INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at)
  SELECT gen_random_uuid(), repeat('-', 1900), '', 'queued', now(), now() FROM generate_series(1, 1200);
DELETE FROM rail_pending WHERE reference = repeat('-', 1900);
