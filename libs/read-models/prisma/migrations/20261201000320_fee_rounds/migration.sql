-- Each round of the collector asks for what is left to do. It must not read what was done in all the years before.

-- Only a collection that was FAILED_IN_FLIGHT is settled after its period has gone on without it.
ALTER TABLE fee_collections ADD COLUMN was_in_flight boolean NOT NULL DEFAULT false;
UPDATE fee_collections c SET was_in_flight = true
  WHERE status = 'FAILED_IN_FLIGHT' OR (status = 'COMPLETED' AND NOT EXISTS
    (SELECT FROM fee_periods p WHERE p.collection_id = c.collection_id AND p.status <> 'GIVEN_UP'));
CREATE INDEX fee_collections_settled_late ON fee_collections (collection_id)
  WHERE was_in_flight AND status = 'COMPLETED';

-- Pages are read by ID.
DROP INDEX fee_periods_open;
CREATE INDEX fee_periods_open ON fee_periods (status, fee_period_id)
  WHERE status IN ('DUE', 'RETRYING', 'COLLECTING', 'GIVEN_UP');
CREATE INDEX fee_periods_untold ON fee_periods (fee_period_id)
  WHERE status = 'GIVEN_UP' AND next_attempt_at IS NOT NULL;
