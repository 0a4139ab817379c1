-- What was sent of each event that became webhooks, for audits: kept for good, long after the bodies. No personal data: the
-- hash is of the body without its parties, so that it holds after their erasure, and tells nothing of them.
CREATE TABLE webhook_body_hashes (
  -- First, so that rows are inserted in order.
  occurred_at timestamptz(3) NOT NULL,
  event_id    uuid NOT NULL,
  -- Which fields a body had: see libs/webhook-deliveries/src/body-hashes.ts.
  shape       smallint NOT NULL,
  -- SHA-256.
  hash        bytea NOT NULL,
  PRIMARY KEY (occurred_at, event_id)
);
-- Hashes do not compress.
ALTER TABLE webhook_body_hashes ALTER COLUMN hash SET STORAGE EXTERNAL;
