-- The simulated bank keeps books: what it has taken and executed, over every kind of connection.
-- No column holds a name or an account number.

ALTER TABLE bank_transfers
  -- How the bank was reached and reports back: JSON, NACHA files, or ISO 20022 messages.
  ADD COLUMN channel text NOT NULL DEFAULT 'json' CHECK (channel IN ('json', 'ach', 'messages')),
  -- The name of the scenario that decided.
  ADD COLUMN scenario text,
  -- How often each answer about it is delivered.
  ADD COLUMN deliveries smallint NOT NULL DEFAULT 1,
  -- What the bank's later files and messages repeat of the order.
  ADD COLUMN details jsonb,
  -- Files and messages do not name our payments.
  DROP CONSTRAINT bank_transfers_terms_check,
  ADD CONSTRAINT bank_transfers_terms_check CHECK (
    status = 'voided' OR (rail, direction, amount_minor, currency_code) IS NOT NULL
  );
UPDATE bank_transfers
   SET plan = CASE plan
                WHEN 'refuse' THEN 'reject'
                WHEN 'silent' THEN 'hold'
                WHEN 'unconfirmed' THEN 'no_confirmation'
                WHEN 'late' THEN 'late_confirmation'
                ELSE plan
              END;

-- One row per execution. Rows outlive the transfer's reference, which the bank forgets.
CREATE TABLE bank_executions (
  reference         text NOT NULL COLLATE "C",
  -- 1, and more only if the bank had forgotten the reference.
  number            integer NOT NULL,
  rail              text NOT NULL,
  direction         text NOT NULL,
  amount_minor      bigint NOT NULL CHECK (amount_minor > 0),
  account_last_four text,
  received_at       timestamptz(3) NOT NULL,
  executed_at       timestamptz(3),
  state             text NOT NULL CHECK (state IN ('pending', 'executed', 'returned')),
  PRIMARY KEY (reference, number)
);
INSERT INTO bank_executions
SELECT t.reference, n, t.rail, t.direction, t.amount_minor, NULL, t.submitted_at,
       CASE WHEN t.status = 'accepted' THEN t.submitted_at END,
       CASE WHEN t.status = 'accepted' THEN 'executed' ELSE 'pending' END
  FROM bank_transfers t, generate_series(1, t.executions) n
 WHERE t.status IN ('pending', 'accepted');
UPDATE bank_executions e SET state = 'returned'
  FROM bank_transfers t
 WHERE t.reference = e.reference AND t.executions = e.number
   AND EXISTS (SELECT 1 FROM bank_notifications n
                WHERE n.reference = t.reference AND n.type = 'returned' AND n.sequence IS NOT NULL);

-- Each kind of connection has its own order of reports.
ALTER TABLE bank_notifications
  ADD COLUMN channel text NOT NULL DEFAULT 'json' CHECK (channel IN ('json', 'ach', 'messages')),
  -- The corrected data of a correction.
  ADD COLUMN corrected text,
  -- How often a file with it is delivered; in other channels each delivery is a row.
  ADD COLUMN deliveries smallint NOT NULL DEFAULT 1,
  DROP CONSTRAINT bank_notifications_type_check,
  ADD CONSTRAINT bank_notifications_type_check
    CHECK (type IN ('confirmed', 'returned', 'rejected', 'corrected'));
DROP INDEX bank_notifications_unpublished;
CREATE INDEX bank_notifications_unpublished ON bank_notifications (channel, due_at, id)
  WHERE sequence IS NULL;
CREATE INDEX bank_notifications_published ON bank_notifications (channel, sequence);

-- The mailbox of the simulated ACH bank. An outgoing file is deleted when it was taken. Of an incoming one
-- only the digest is kept, so that the bank notices when the same file comes again.
CREATE TABLE bank_files (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('ack', 'returns', 'corrections')),
  bytes      bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE TABLE bank_files_received (
  sha256      text PRIMARY KEY COLLATE "C",
  name        text NOT NULL UNIQUE,
  received_at timestamptz(3) NOT NULL DEFAULT now()
);

-- RTP names a transfer by its instruction, without the end-to-end id.
CREATE INDEX bank_transfers_instruction ON bank_transfers ((details ->> 'instructionId'))
  WHERE channel = 'messages';
