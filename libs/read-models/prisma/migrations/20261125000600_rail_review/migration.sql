-- The automated review moved from the bank into rail-executor. Payments are counted for its daily limits.

-- A payment that was let through is counted once.
CREATE TABLE rail_review_payments (
  payment_id uuid PRIMARY KEY,
  -- In the Eastern Time zone. Rows are deleted after some days.
  day        date NOT NULL
);
CREATE INDEX rail_review_payments_day ON rail_review_payments (day);

CREATE TABLE rail_review_totals (
  rule         text NOT NULL COLLATE "C",
  -- originator:<id> or contact:<id>
  party        text NOT NULL COLLATE "C",
  day          date NOT NULL,
  total_minor  bigint NOT NULL,
  payments     bigint NOT NULL,
  -- The limits of the rule at the last payment.
  total_max    bigint,
  payments_max bigint,
  PRIMARY KEY (rule, party, day)
);
CREATE INDEX rail_review_totals_day ON rail_review_totals (day);

-- The simulated bank reviews nothing any more.
DROP TABLE bank_screenings;
