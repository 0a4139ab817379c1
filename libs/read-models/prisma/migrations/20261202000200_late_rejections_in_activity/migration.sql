-- The bank rejected the payment when it was FAILED_IN_FLIGHT. Such a row changes no status. A table that an earlier release
-- has filled lacks them until the projection `movements` is rebuilt.
ALTER TABLE payment_activity ADD COLUMN rejected_late boolean NOT NULL DEFAULT false;
