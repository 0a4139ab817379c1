-- migrate:no-transaction
-- A payment without a contact is in no list of a contact.
CREATE INDEX CONCURRENTLY payment_periods_of_contact ON payment_periods
  (contact_id, hashtext(status || direction || payment_rail), band, created_at DESC, payment_id DESC)
  WHERE contact_id IS NOT NULL;
