-- Every payment that is not at its end has a row here: what rail-executor must look at again, and when.

ALTER TABLE rail_pending DROP CONSTRAINT rail_pending_stage_check;
UPDATE rail_pending SET stage = 'queued' WHERE stage = 'screening';
ALTER TABLE rail_pending
  -- 'queued': nothing was submitted. 'claimed': a submission may be under way, its outcome unknown.
  -- 'submitted': the bank has taken it. 'in_flight': FAILED_IN_FLIGHT, the bank is asked about it.
  ADD CONSTRAINT rail_pending_stage_check
    CHECK (stage IN ('queued', 'claimed', 'submitted', 'in_flight')),
  -- Null until the executor has read the payment.
  ALTER COLUMN rail DROP NOT NULL,
  -- When a submission was last noted, which is before it is sent.
  ADD COLUMN last_submission_at timestamptz(3),
  ADD COLUMN submissions integer NOT NULL DEFAULT 0,
  -- Set once no further submission may be noted.
  ADD COLUMN sealed_at timestamptz(3),
  -- When to look whether the payment is overdue; null when it has no deadline.
  ADD COLUMN overdue_at timestamptz(3),
  -- Looks since the last progress, for the backoff.
  ADD COLUMN attempts integer NOT NULL DEFAULT 0,
  -- Unexpected errors before the claim.
  ADD COLUMN failures integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN rail_pending.deadline_at IS 'When to look at the payment again; moved ahead while an executor does.';
UPDATE rail_pending
   SET overdue_at = deadline_at, last_submission_at = submitted_at, submissions = 1
 WHERE stage = 'submitted';
CREATE INDEX rail_pending_overdue ON rail_pending (overdue_at) WHERE overdue_at IS NOT NULL;

-- The simulated bank voids references, also those that it has never seen.
ALTER TABLE bank_transfers DROP CONSTRAINT bank_transfers_status_check;
ALTER TABLE bank_transfers
  ADD CONSTRAINT bank_transfers_status_check
    CHECK (status IN ('refused', 'pending', 'accepted', 'voided')),
  ADD CONSTRAINT bank_transfers_terms_check CHECK (
    status = 'voided'
    OR (payment_id, rail, direction, amount_minor, currency_code) IS NOT NULL
  ),
  ALTER COLUMN payment_id DROP NOT NULL,
  ALTER COLUMN rail DROP NOT NULL,
  ALTER COLUMN direction DROP NOT NULL,
  ALTER COLUMN amount_minor DROP NOT NULL,
  ALTER COLUMN currency_code DROP NOT NULL,
  -- How often money was moved under the reference: more than once only when the bank had forgotten it.
  ADD COLUMN executions integer NOT NULL DEFAULT 1;
UPDATE bank_transfers SET executions = 0 WHERE status = 'refused';
