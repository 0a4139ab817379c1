-- When staff were told that both of two collections of the period were settled. Null in rows of an earlier release.
ALTER TABLE fee_periods ADD COLUMN debited_twice_at timestamptz(3);
CREATE INDEX fee_periods_debited_twice ON fee_periods (debited_twice_at) WHERE debited_twice_at IS NOT NULL;
