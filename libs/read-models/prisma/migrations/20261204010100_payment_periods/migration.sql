-- Which status each payment had when, for lists as of a time: the read model of the projection `history`. No personal data.
CREATE TABLE payment_periods (
  payment_id      uuid NOT NULL,
  -- Of the event that began the period.
  revision        integer NOT NULL,
  organization_id uuid NOT NULL,
  originator_id   uuid NOT NULL,
  contact_id      uuid,
  status          text NOT NULL,
  direction       text NOT NULL,
  payment_rail    text NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  valid_from      timestamptz(3) NOT NULL,
  -- Exclusive; NULL while the period lasts.
  valid_to        timestamptz(3),
  -- The latest time of the events of the payment up to now, or to the end of the period.
  last_at         timestamptz(3) NOT NULL,
  -- By the age of the payment: see libs/read-models/src/payment-periods.ts.
  band            smallint NOT NULL,
  PRIMARY KEY (payment_id, revision)
);
CREATE INDEX payment_periods_by_class ON payment_periods
  (organization_id, status, direction, payment_rail, band, created_at DESC, payment_id DESC);
CREATE INDEX payment_periods_by_originator ON payment_periods
  (originator_id, status, direction, payment_rail, band, created_at DESC, payment_id DESC);
CREATE INDEX payment_periods_by_contact ON payment_periods
  (contact_id, status, direction, payment_rail, band, created_at DESC, payment_id DESC);
