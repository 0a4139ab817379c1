-- Repeated opens and refused submissions of one visitor count in one row: `at` is the first one, `last_at` the last.
-- Null in rows of earlier releases, which stand for one access.
ALTER TABLE payment_link_accesses ADD COLUMN count integer NOT NULL DEFAULT 1, ADD COLUMN last_at timestamptz(3);
-- Each kind is listed for itself, so that opens do not push out submissions.
CREATE INDEX payment_link_accesses_by_kind ON payment_link_accesses (payment_id, kind, at DESC, access_id);
DROP INDEX payment_link_accesses_by_payment;
