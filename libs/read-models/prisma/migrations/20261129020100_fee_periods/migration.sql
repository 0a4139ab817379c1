-- Fee periods and the collections of fees: a read model (projection `fees`). It finds what is left to do; the streams
-- decide.

-- One row for each originator and month that was closed. Amounts are cents.
CREATE TABLE fee_periods (
  fee_period_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  year integer NOT NULL,
  month integer NOT NULL,
  discount_fee_minor bigint NOT NULL,
  flat_fee_minor bigint NOT NULL,
  return_fee_minor bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  -- The last one.
  collection_id uuid,
  -- While the status is RETRYING.
  next_attempt_at timestamptz(3),
  closed_at timestamptz(3) NOT NULL,
  revision integer NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX fee_periods_by_originator ON fee_periods (organization_id, originator_id, year DESC, month DESC);
CREATE INDEX fee_periods_open ON fee_periods (status, next_attempt_at) WHERE status IN ('DUE', 'RETRYING', 'COLLECTING');
CREATE INDEX fee_periods_by_collection ON fee_periods (collection_id) WHERE collection_id IS NOT NULL;

-- One row for each collection.
CREATE TABLE fee_collections (
  collection_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  amount_minor bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  revision integer NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX fee_collections_returned ON fee_collections (collection_id) WHERE status = 'RETURNED';

-- How far the months of each organization were closed. It only saves work: it is found again in the streams.
CREATE TABLE fee_months (
  organization_id uuid PRIMARY KEY,
  year integer NOT NULL,
  month integer NOT NULL
);
