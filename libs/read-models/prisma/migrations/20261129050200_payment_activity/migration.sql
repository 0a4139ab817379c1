-- Every change of status of a payment, for monthly statements: a read model of the projection `movements`. No personal
-- data.
CREATE TABLE payment_activity (
  payment_id         uuid NOT NULL,
  revision           integer NOT NULL,
  position           text COLLATE "C" NOT NULL,
  at                 timestamptz(3) NOT NULL,
  organization_id    uuid NOT NULL,
  originator_id      uuid NOT NULL,
  is_inbound         boolean NOT NULL,
  -- What the payment moves, with the fee that the payer of a link pays.
  amount_minor       bigint NOT NULL,
  -- Charged at completion, and at a return.
  fee_minor          bigint NOT NULL,
  return_fee_minor   bigint NOT NULL,
  moves_money        boolean NOT NULL,
  -- 1 when the payment begins to be in progress, -1 when it ends to be.
  in_progress_change smallint NOT NULL,
  -- What this change charged.
  charged_minor      bigint NOT NULL,
  PRIMARY KEY (payment_id, revision)
);
CREATE INDEX payment_activity_by_originator ON payment_activity (originator_id, at, payment_id);
