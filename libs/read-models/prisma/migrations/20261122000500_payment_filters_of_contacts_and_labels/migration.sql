-- A contact, or a label, may have as many payments as the whole table: with a status that none of them has,
-- a list would walk through all. As in 20261122000300, the classes come before the time; a list of a contact
-- alone takes one range per class (payments-query.ts). They replace the ones without classes, since each
-- change of a status writes every index.
CREATE INDEX payments_by_contact_and_class
  ON payments (organization_id, contact_id, status, direction, payment_rail, created_at DESC, payment_id DESC)
  WHERE contact_id IS NOT NULL;
CREATE INDEX payments_by_external_id_and_class
  ON payments (organization_id, external_payment_id, status, direction, payment_rail, created_at DESC, payment_id DESC)
  WHERE external_payment_id IS NOT NULL;

-- The payment of an Idempotency-Key is found by its id, which follows from the key: nobody asks by it here.
-- The column stays, as the projectors of the version before write it.
DROP INDEX payments_by_idempotency_key;
-- Last, since it keeps readers out until the end.
DROP INDEX payments_by_contact, payments_by_external_id;
