-- The rails: what rail-executor waits for, and the simulated bank's own books.
-- No column anywhere here holds an account or routing number.

-- Payments at the bank without an outcome, one row each; deleted when the outcome is recorded.
CREATE TABLE rail_pending (
  payment_id   uuid PRIMARY KEY,
  reference    text NOT NULL COLLATE "C",
  rail         text NOT NULL,
  -- 'screening': the bank is still looking at it; 'submitted': waiting for the confirmation.
  stage        text NOT NULL CHECK (stage IN ('screening', 'submitted')),
  -- When it was given to the bank (screening: first asked).
  submitted_at timestamptz(3) NOT NULL,
  -- When to look at it again: to ask for the screening, or the deadline of the confirmation. Null: never.
  deadline_at  timestamptz(3),
  -- When the bank was asked to look into it; set only after the deadline was missed.
  inquired_at  timestamptz(3)
);
CREATE INDEX rail_pending_deadline ON rail_pending (deadline_at)
  WHERE deadline_at IS NOT NULL AND inquired_at IS NULL;

-- How far the bank's feed has been recorded: one row a feed.
CREATE TABLE rail_feed_checkpoint (
  feed       text PRIMARY KEY,
  cursor     text NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

-- Notifications that fit no payment or no status: kept for staff, never dropped.
CREATE TABLE rail_unmatched_notifications (
  feed               text NOT NULL,
  sequence           text NOT NULL,
  reference          text NOT NULL,
  type               text NOT NULL,
  return_reason_code text,
  at                 timestamptz(3) NOT NULL,
  reason             text NOT NULL,
  recorded_at        timestamptz(3) NOT NULL,
  PRIMARY KEY (feed, sequence)
);

-- The simulated bank. A transfer executes once per reference: the primary key is the guarantee.
CREATE TABLE bank_transfers (
  reference          text PRIMARY KEY COLLATE "C",
  payment_id         uuid NOT NULL,
  rail               text NOT NULL,
  direction          text NOT NULL,
  amount_minor       bigint NOT NULL CHECK (amount_minor > 0),
  currency_code      text NOT NULL,
  -- What the contact's account number chose.
  plan               text NOT NULL,
  return_reason_code text,
  -- 'refused' never executed; 'pending' not confirmed; 'accepted' executed.
  status             text NOT NULL CHECK (status IN ('refused', 'pending', 'accepted')),
  submissions        integer NOT NULL DEFAULT 1,
  submitted_at       timestamptz(3) NOT NULL,
  inquired_at        timestamptz(3)
);
CREATE INDEX bank_transfers_payment ON bank_transfers (payment_id);

-- Since when the bank has been looking at a transfer, when the simulated delay is not 0.
CREATE TABLE bank_screenings (
  reference  text PRIMARY KEY COLLATE "C",
  started_at timestamptz(3) NOT NULL
);

-- The feed. A notification has a sequence once it is due and published; see notification-feed.ts.
CREATE TABLE bank_notifications (
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sequence           bigint UNIQUE,
  reference          text NOT NULL COLLATE "C",
  type               text NOT NULL CHECK (type IN ('confirmed', 'returned', 'rejected')),
  return_reason_code text,
  due_at             timestamptz(3) NOT NULL,
  created_at         timestamptz(3) NOT NULL
);
CREATE SEQUENCE bank_notifications_sequence;
CREATE INDEX bank_notifications_unpublished ON bank_notifications (due_at, id) WHERE sequence IS NULL;
