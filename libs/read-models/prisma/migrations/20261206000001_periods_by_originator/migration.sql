-- migrate:no-transaction
CREATE INDEX CONCURRENTLY payment_periods_of_originator ON payment_periods
  (originator_id, hashtext(status || direction || payment_rail), band, created_at DESC, payment_id DESC);
