-- Several connections to banks. Each has its own feed, and the rows of one never hold up those of another.

-- Empty while it is unknown: an executor then asks the payment's stream.
ALTER TABLE rail_pending ADD COLUMN connection text NOT NULL DEFAULT '' COLLATE "C";
CREATE INDEX rail_pending_due ON rail_pending (connection, deadline_at);
DROP INDEX rail_pending_overdue;
CREATE INDEX rail_pending_overdue ON rail_pending (connection, overdue_at) WHERE overdue_at IS NOT NULL;

-- The only feed of older releases is named 'bank'.
ALTER TABLE rail_notified_references
  ADD COLUMN feed text NOT NULL DEFAULT 'bank' COLLATE "C",
  DROP CONSTRAINT rail_notified_references_pkey,
  ADD PRIMARY KEY (feed, reference);
ALTER TABLE rail_notified_references ALTER COLUMN feed DROP DEFAULT;
DROP INDEX rail_notified_references_new, rail_notified_references_retried, rail_notified_references_since;
CREATE INDEX rail_notified_references_new ON rail_notified_references (feed, due_at) WHERE tries = 0;
CREATE INDEX rail_notified_references_retried ON rail_notified_references (feed, due_at) WHERE tries > 0;
CREATE INDEX rail_notified_references_since ON rail_notified_references (feed, since);
DROP INDEX rail_notifications_of_reference;
CREATE INDEX rail_notifications_of_reference ON rail_notifications (feed, reference, contradicts, arrival);
