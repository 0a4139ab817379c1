-- Prenotes: entries of zero dollars that check an account before its first payment. Written by libs/bank-rails/src/rails/ach.

-- One row for each prenote. Its entry has the same reference in ach_entries, until that is deleted for its age.
CREATE TABLE ach_prenotes (
  reference   text PRIMARY KEY COLLATE "C",
  bank        text NOT NULL,
  -- MAC over the organization, the company ID, the side and the account.
  account     text NOT NULL,
  -- 'open': sent, or about to be; the account is valid once its time is over. 'refused': the account is not valid, see
  -- `rejection`. 'dropped': it says nothing, because it was never sent or never answered.
  state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'refused', 'dropped')),
  rejection   jsonb,
  created_at  timestamptz(3) NOT NULL,
  -- When its file was uploaded. NULL until the bank has accepted the entry: the time counts from then.
  received_at timestamptz(3),
  -- When it last let a payment through, to the day.
  used_at     timestamptz(3)
);
-- Payments to one account that come at the same time share one prenote.
CREATE UNIQUE INDEX ach_prenotes_open ON ach_prenotes (bank, account) WHERE state = 'open';
CREATE INDEX ach_prenotes_by_age ON ach_prenotes (bank, coalesce(used_at, created_at));

-- Payments that wait for a prenote, or failed by it.
CREATE TABLE ach_prenote_waits (
  -- Of the payment.
  reference text PRIMARY KEY COLLATE "C",
  bank      text NOT NULL,
  prenote   text NOT NULL COLLATE "C",
  -- When the payment is looked at next, at the latest.
  until     timestamptz(3) NOT NULL
);
CREATE INDEX ach_prenote_waits_by_prenote ON ach_prenote_waits (prenote);
CREATE INDEX ach_prenote_waits_by_age ON ach_prenote_waits (bank, until);
