-- Every transfer that was handed to a bank as an ISO 20022 message: a row before its first byte is sent, so
-- that a repetition after a crash is the same message, and a voided reference is never sent. No personal data.
CREATE TABLE iso_transfers (
  connection     text NOT NULL COLLATE "C",
  reference      text NOT NULL COLLATE "C",
  -- 'sending': it may have been sent, the outcome is unknown. 'received', 'held': the bank has it.
  -- 'voided': never executed, and never sent from now on.
  state          text NOT NULL,
  -- Why it was rejected: RailRejection.
  rejection      jsonb,
  -- Null in a row that only voids a reference that was never submitted.
  details        jsonb,
  message_id     text COLLATE "C",
  instruction_id text COLLATE "C",
  uetr           text COLLATE "C",
  -- In rail_files: the exact bytes of the pacs.008. Null when it was rejected before it was sent.
  file_id        uuid,
  created_at     timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT iso_transfers_pkey PRIMARY KEY (connection, reference),
  CONSTRAINT iso_transfers_state_check
    CHECK (state IN ('sending', 'received', 'held', 'accepted', 'rejected', 'voided'))
);
-- Answers name a transfer by one of these where the rail leaves out the reference.
CREATE INDEX iso_transfers_by_message ON iso_transfers (connection, message_id);
CREATE INDEX iso_transfers_by_instruction ON iso_transfers (connection, instruction_id);
CREATE INDEX iso_transfers_by_uetr ON iso_transfers (connection, uetr);
CREATE INDEX iso_transfers_by_time ON iso_transfers (created_at);

-- Numbers of messages on rails that count them (Fedwire's IMAD).
CREATE TABLE iso_message_numbers (
  connection text NOT NULL COLLATE "C",
  day        date NOT NULL,
  last       integer NOT NULL,
  CONSTRAINT iso_message_numbers_pkey PRIMARY KEY (connection, day)
);
