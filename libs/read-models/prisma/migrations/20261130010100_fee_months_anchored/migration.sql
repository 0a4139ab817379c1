-- The last event of the log when the months were closed: if the log does not have it, the row is forgotten.
ALTER TABLE fee_months
  ADD COLUMN position text COLLATE "C",
  ADD COLUMN event_id uuid,
  ADD COLUMN stream_id text,
  ADD COLUMN revision integer;

-- Periods that staff have to be told of, or whose collection was settled after all.
CREATE INDEX fee_periods_given_up ON fee_periods (fee_period_id) WHERE status = 'GIVEN_UP';
