-- Notifications of the bank between the feed and the payment's stream. A page of the feed is written here in
-- the transaction that moves the checkpoint. A row is deleted when its payment's stream says the same.
-- So a notification that does not fit yet is kept and tried again, and it holds up only its own payment.

CREATE TABLE rail_notifications (
  feed               text NOT NULL,
  sequence           text NOT NULL COLLATE "C",
  -- The order of the feed: sequences are opaque.
  arrival            bigint GENERATED ALWAYS AS IDENTITY,
  reference          text NOT NULL COLLATE "C",
  type               text NOT NULL,
  return_reason_code text,
  at                 timestamptz(3) NOT NULL,
  received_at        timestamptz(3) NOT NULL,
  -- Why the last try did not record it; NULL before the first try.
  reason             text,
  -- The payment's status excludes it for good. It no longer holds up what came later for the same payment.
  contradicts        boolean NOT NULL DEFAULT false,
  PRIMARY KEY (feed, sequence)
);
CREATE INDEX rail_notifications_of_reference ON rail_notifications (reference, contradicts, arrival);
CREATE INDEX rail_notifications_new ON rail_notifications (received_at) WHERE reason IS NULL;
CREATE INDEX rail_notifications_unmatched ON rail_notifications (received_at, arrival) WHERE reason IS NOT NULL;

-- One row for each reference that has rows in rail_notifications: when they are tried, and by whom. One
-- executor at a time works on a reference, which keeps the order of one payment.
CREATE TABLE rail_notified_references (
  reference    text PRIMARY KEY COLLATE "C",
  -- When its newest notification arrived, or its retries were asked for: pauses grow with the age.
  since        timestamptz NOT NULL,
  -- 0 until the first try.
  tries        integer NOT NULL DEFAULT 0,
  -- 'infinity' when it is no longer tried by itself.
  due_at       timestamptz NOT NULL,
  lease        uuid,
  leased_until timestamptz
);
-- Two, so that what is new never waits behind what is tried again.
CREATE INDEX rail_notified_references_new ON rail_notified_references (due_at) WHERE tries = 0;
CREATE INDEX rail_notified_references_retried ON rail_notified_references (due_at) WHERE tries > 0;
CREATE INDEX rail_notified_references_since ON rail_notified_references (since);

-- What was given up at the first mismatch is tried again.
INSERT INTO rail_notifications
    (feed, sequence, reference, type, return_reason_code, at, received_at, reason)
  SELECT feed, sequence, left(reference, 200), type, return_reason_code, at, recorded_at, left(reason, 500)
    FROM rail_unmatched_notifications
   ORDER BY recorded_at, length(sequence), sequence;
INSERT INTO rail_notified_references (reference, since, tries, due_at)
  SELECT DISTINCT reference, now(), 1, now() FROM rail_notifications;
DROP TABLE rail_unmatched_notifications;
