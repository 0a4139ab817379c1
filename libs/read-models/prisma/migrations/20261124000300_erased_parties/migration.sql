-- Contacts and originators whose personal data was erased. Lists leave them out, so their indexes do too: an
-- organization that erases many must not read past them.
ALTER TABLE contacts ADD COLUMN erased_at timestamptz(3);
ALTER TABLE originators ADD COLUMN erased_at timestamptz(3);
DROP INDEX contacts_by_time, contacts_by_originator, originators_by_time;
CREATE INDEX contacts_by_time ON contacts (organization_id, created_at DESC, contact_id DESC)
  WHERE erased_at IS NULL;
CREATE INDEX contacts_by_originator
  ON contacts (organization_id, originator_id, created_at DESC, contact_id DESC) WHERE erased_at IS NULL;
CREATE INDEX originators_by_time ON originators (organization_id, created_at DESC, originator_id DESC)
  WHERE erased_at IS NULL;

-- Who was erased, and how far the tables that hold copies have been rewritten. The directory projection adds
-- the rows. They stay: what arrives late, for example from Kafka, is compared with them.
CREATE TABLE erased_parties (
  party_id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('contact', 'originator')),
  organization_id uuid NOT NULL,
  erased_at timestamptz(3) NOT NULL,
  -- Of the erasure in the log.
  position text COLLATE "C" NOT NULL,
  -- How often all payments of the party have been gone through.
  passes integer NOT NULL DEFAULT 0,
  -- The last payment of the pass under way, in the order of lists; null at its beginning.
  place_created_at timestamptz(3),
  place_payment_id uuid,
  -- When the next step is due; null when nothing is left to do. A worker that takes a step moves it ahead.
  due_at timestamptz,
  -- Changes with each step and each restart: a worker whose lease has ended changes nothing.
  lease uuid NOT NULL DEFAULT gen_random_uuid()
);
CREATE INDEX erased_parties_due ON erased_parties (due_at) WHERE due_at IS NOT NULL;

-- The few deliveries with a body of their own. All others have the body of their event.
CREATE INDEX webhook_deliveries_with_body ON webhook_deliveries (payment_id) WHERE body IS NOT NULL;
CREATE INDEX webhook_finished_deliveries_with_body ON webhook_finished_deliveries (payment_id)
  WHERE body IS NOT NULL;
