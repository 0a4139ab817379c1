-- The search for waiting approvals of erased people begins with who was erased lately. It used to read every approval
-- that was ever left to expire.
CREATE INDEX erased_parties_by_time ON erased_parties (erased_at);
CREATE INDEX approvals_waiting_by_recipient ON approvals (recipient_id, created_at) WHERE status = 'WAITING';
CREATE INDEX approvals_waiting_by_originator ON approvals (originator_id, created_at) WHERE status = 'WAITING';
DROP INDEX approvals_waiting;
-- Refusals of the last minutes are looked at again: the payment of one may have been created late.
CREATE INDEX approvals_refused ON approvals (decided_at) WHERE status = 'REFUSED';
