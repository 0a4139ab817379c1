-- The rails: what rail-executor waits for, and the simulated bank's own books.
-- No column anywhere here holds an account or routing number.

-- What rail-executor must do at a time, one row a payment: a durable timer, deleted when it has been
-- seen to. The outcome itself is in the payment's stream.
CREATE TABLE rail_pending (
  payment_id   uuid PRIMARY KEY,
  reference    text NOT NULL COLLATE "C",
  rail         text NOT NULL,
  -- 'screening': ask the bank again; 'submitted': without a confirmation until then it is overdue.
  stage        text NOT NULL CHECK (stage IN ('screening', 'submitted')),
  -- When the bank was first asked about it.
  submitted_at timestamptz(3) NOT NULL,
  deadline_at  timestamptz(3) NOT NULL
);
CREATE INDEX rail_pending_deadline ON rail_pending (deadline_at);

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
CREATE INDEX bank_notifications_unpublished ON bank_notifications (due_at, id) WHERE sequence IS NULL;
