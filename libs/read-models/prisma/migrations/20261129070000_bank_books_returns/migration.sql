-- The simulated bank writes statements from its books, so these say when money came back, and why.
ALTER TABLE bank_executions
  ADD COLUMN returned_at timestamptz(3),
  ADD COLUMN return_reason_code text;
-- The report has the reason. Reports that were deleted meanwhile leave the day of the execution.
UPDATE bank_executions e
   SET returned_at = coalesce(n.due_at, e.executed_at, e.received_at),
       return_reason_code = n.return_reason_code
  FROM bank_executions x
  LEFT JOIN LATERAL (
    SELECT due_at, return_reason_code FROM bank_notifications
     WHERE reference = x.reference AND type = 'returned' ORDER BY id LIMIT 1
  ) n ON true
 WHERE x.reference = e.reference AND x.number = e.number AND e.state = 'returned';
CREATE INDEX bank_executions_executed ON bank_executions (executed_at) WHERE executed_at IS NOT NULL;
CREATE INDEX bank_executions_returned ON bank_executions (returned_at) WHERE returned_at IS NOT NULL;
