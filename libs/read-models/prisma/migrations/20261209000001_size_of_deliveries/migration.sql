-- As size_of_queues was meant to do: its rows of webhook_deliveries were too long for a fourth of a page, so they were
-- compressed and filled 28 pages, not 300. Four of these fill a page. They are deleted by an index.
INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, occurred_at, created_at,
    next_attempt_at, window_ends_at)
  SELECT id, id, '00000000-0000-0000-0000-000000000000', id, repeat('-', 1800), now(), now(), now(), now()
    FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 1200)) AS row;
DELETE FROM webhook_deliveries
 WHERE endpoint_id = '00000000-0000-0000-0000-000000000000' AND event_type = repeat('-', 1800);
