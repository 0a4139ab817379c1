-- migrate:no-transaction
-- Notifications of change. There are few, and each file that has one looks for what the bank has said of its entry before.
CREATE INDEX CONCURRENTLY ach_feed_corrections ON ach_feed (bank, reference) WHERE corrected IS NOT NULL;
