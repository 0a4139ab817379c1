-- Replaces rejected_late, whose default hides which release wrote a row. NULL: an earlier release wrote it. That release left
-- out late rejections, so statements wait until the projection `movements` is rebuilt.
ALTER TABLE payment_activity ADD COLUMN is_rejected_late boolean;
-- Empty once the projection is rebuilt.
CREATE INDEX payment_activity_of_earlier_releases ON payment_activity (is_rejected_late)
  WHERE is_rejected_late IS NULL;
