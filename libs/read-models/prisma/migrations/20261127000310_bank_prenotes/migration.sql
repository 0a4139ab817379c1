-- The simulated bank takes prenotes, which have no amount. They are never in its books: bank_executions stays as it is.
ALTER TABLE bank_transfers
  DROP CONSTRAINT bank_transfers_amount_minor_check,
  ADD CONSTRAINT bank_transfers_amount_minor_check CHECK (amount_minor >= 0);
