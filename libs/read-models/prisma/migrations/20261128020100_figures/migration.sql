-- The figures of the dashboard's overview: a read model (projection `figures`). The projection has its own
-- checkpoint, so that it begins with the first event of the log.
--
-- The overview reads the sums alone. Their number does not grow with the number of payments: a day has at most
-- one for each status, direction, rail and return reason that occurs.

-- One row for each payment: what its part of the sums is.
CREATE TABLE payment_figures (
  payment_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  created_at timestamptz(3) NOT NULL,
  direction text COLLATE "C" NOT NULL,
  payment_rail text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  amount_minor bigint NOT NULL,
  queued_at timestamptz(3),
  completed_at timestamptz(3),
  return_reason_code text COLLATE "C",
  revision integer NOT NULL
) WITH (fillfactor = 80);

-- `day` is that of the payment's creation, UTC. The code is '' if there is none.
CREATE TABLE payment_days (
  organization_id uuid NOT NULL,
  status text COLLATE "C" NOT NULL,
  day date NOT NULL,
  direction text COLLATE "C" NOT NULL,
  payment_rail text COLLATE "C" NOT NULL,
  return_reason_code text COLLATE "C" NOT NULL,
  payments bigint NOT NULL,
  amount_minor bigint NOT NULL,
  PRIMARY KEY (organization_id, status, day, direction, payment_rail, return_reason_code)
) WITH (fillfactor = 70);

-- How long payments took from QUEUED to COMPLETED. A bucket is 5 % wide (figures.projection.ts).
CREATE TABLE payment_durations (
  organization_id uuid NOT NULL,
  day date NOT NULL,
  payment_rail text COLLATE "C" NOT NULL,
  bucket integer NOT NULL,
  payments bigint NOT NULL,
  PRIMARY KEY (organization_id, day, payment_rail, bucket)
) WITH (fillfactor = 70);
