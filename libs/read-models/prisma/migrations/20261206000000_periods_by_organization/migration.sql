-- migrate:no-transaction
-- An index over all periods, in two thirds of the size: a hash of four bytes in place of status, direction and rail. Hash
-- indexes keep the values of hashtext on disk, too, so PostgreSQL cannot change them. Queries compare the three columns
-- as well (libs/read-models/src/payment-periods.ts), so values with the same hash do no harm.
CREATE INDEX CONCURRENTLY payment_periods_of_organization ON payment_periods
  (organization_id, hashtext(status || direction || payment_rail), band, created_at DESC, payment_id DESC);
