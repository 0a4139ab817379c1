-- As in size_of_queues: the tables of the bank's notifications are empty as well whenever all of them are recorded.
ALTER TABLE rail_notifications SET (vacuum_truncate = off);
ALTER TABLE rail_notified_references SET (vacuum_truncate = off);

-- Four rows fill a page.
INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at)
  SELECT '', n::text, '', repeat('-', 1800), now(), now() FROM generate_series(1, 1200) AS n;
DELETE FROM rail_notifications WHERE feed = '';

INSERT INTO rail_notified_references (feed, reference, since, due_at)
  SELECT '', n::text || repeat('-', 1800), now(), now() FROM generate_series(1, 1200) AS n;
DELETE FROM rail_notified_references WHERE feed = '';
