-- Payments of the dashboard that need a second person: a read model of the projection `directory`. It has no personal
-- data: who the recipient is and what is asked for is in the events.
CREATE TABLE approvals (
  approval_id     uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id   uuid NOT NULL,
  -- A saved contact, or the ID that an unsaved recipient was given.
  recipient_id    uuid NOT NULL,
  -- Of an unsaved recipient: its personal data is found by it when it is erased.
  is_unsaved      boolean NOT NULL,
  requested_by    uuid NOT NULL,
  status          text COLLATE "C" NOT NULL,
  -- When it was granted, rejected, withdrawn or ended.
  decided_at      timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  revision        integer NOT NULL
);
CREATE INDEX approvals_by_time ON approvals (organization_id, created_at DESC, approval_id DESC);
CREATE INDEX approvals_by_status ON approvals (organization_id, status, created_at DESC, approval_id DESC);
CREATE INDEX approvals_by_recipient ON approvals (recipient_id) WHERE is_unsaved;
-- What is still to be done: payments to create, and requests of parties that were erased.
CREATE INDEX approvals_granted ON approvals (approval_id) WHERE status = 'GRANTED';
CREATE INDEX approvals_waiting ON approvals (approval_id) WHERE status = 'WAITING';
