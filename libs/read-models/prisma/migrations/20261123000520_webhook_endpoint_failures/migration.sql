-- Endpoints whose attempts have failed since their last success. A success deletes the row, so the table stays
-- as small as the number of endpoints that fail.
CREATE TABLE webhook_endpoint_failures (
  endpoint_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- The first attempt that failed after the last success.
  failing_since timestamptz(3) NOT NULL,
  -- Kept to the minute: an endpoint that fails often must not cost a write for each attempt.
  last_failed_at timestamptz(3) NOT NULL,
  -- When operators were told; null before.
  reported_at timestamptz(3)
);
