-- The row of a canceled payment stays: the erasure of a counterparty that is no saved contact finds its payments
-- here. No token finds it any more.
ALTER TABLE payment_links ADD COLUMN canceled_at timestamptz(3);
