-- What staff are told of: payments in doubt. One row for each channel (email, webhook) and payment.
CREATE TABLE rail_staff_notices (
  channel    text NOT NULL COLLATE "C",
  payment_id uuid NOT NULL,
  -- 'in_flight' or 'rejected_late'
  kind       text NOT NULL COLLATE "C",
  arrival    bigint GENERATED ALWAYS AS IDENTITY,
  -- When it happened.
  at         timestamptz(3) NOT NULL,
  told_at    timestamptz(3),
  PRIMARY KEY (channel, payment_id, kind)
);
CREATE INDEX rail_staff_notices_untold ON rail_staff_notices (channel, arrival) WHERE told_at IS NULL;
CREATE INDEX rail_staff_notices_at ON rail_staff_notices (at);

-- One executor at a time sends a digest over a channel, and not more often than the limit.
CREATE TABLE rail_staff_channels (
  channel      text PRIMARY KEY COLLATE "C",
  next_at      timestamptz(3) NOT NULL,
  failures     integer NOT NULL DEFAULT 0,
  leased_until timestamptz(3)
);
