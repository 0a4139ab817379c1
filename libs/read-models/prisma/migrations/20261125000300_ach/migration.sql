-- ACH: entries on their way into a NACHA file, the files, and what the bank answered. All of it is written by
-- libs/bank-rails/src/rails/ach. `bank` is the name of the connection.

-- One row for each connection. Every transaction that numbers something locks the row first: so the feed has
-- one order, one process at a time builds a file, and no number is used twice.
CREATE TABLE ach_banks (
  bank          text PRIMARY KEY,
  -- The sequence part of the last trace number: up to 9999999, then 1 again.
  last_trace    integer NOT NULL DEFAULT 0,
  last_file     bigint NOT NULL DEFAULT 0,
  -- Of the feed.
  last_sequence bigint NOT NULL DEFAULT 0
);

-- The primary key is the guarantee: a reference gets into at most one file, once.
CREATE TABLE ach_entries (
  reference            text PRIMARY KEY COLLATE "C",
  bank                 text NOT NULL,
  -- 'waiting': in no file. 'filed': its file's bytes are recorded. Then what the bank says.
  status               text NOT NULL
    CHECK (status IN ('waiting', 'filed', 'accepted', 'returned', 'rejected', 'voided')),
  -- NULL in a row that was voided before the transfer came.
  payment_id           uuid,
  organization_id      uuid,
  originator_id        uuid,
  contact_id           uuid,
  direction            text,
  amount_minor         bigint,
  -- MAC over the terms of the transfer: another transfer under this reference is refused.
  terms_mac            text,
  standard_entry_class text,
  transaction_code     text,
  -- 'same_day' or 'standard'.
  service              text,
  -- Account, name and note, sealed under the contact's key. NULL as soon as it is not needed any more.
  sealed_receiver      text,
  -- 15 letters and digits, derived from the reference.
  individual_id        text,
  trace_number         text,
  file_id              bigint,
  submitted_at         timestamptz(3) NOT NULL,
  -- When it is put into a file.
  due_at               timestamptz(3),
  submissions          integer NOT NULL DEFAULT 0,
  -- What the bank has said about a 'filed' entry: 'pending' or 'held'.
  answer               text,
  inquired_at          timestamptz(3),
  -- Why it is 'rejected'.
  rejection            jsonb,
  return_reason_code   text
);
CREATE INDEX ach_entries_waiting ON ach_entries (bank, due_at) WHERE status = 'waiting';
CREATE INDEX ach_entries_filed ON ach_entries (file_id) WHERE status = 'filed';
CREATE INDEX ach_entries_by_trace ON ach_entries (bank, trace_number) WHERE trace_number IS NOT NULL;
CREATE INDEX ach_entries_by_age ON ach_entries (bank, submitted_at);

-- Files to the bank. The bytes are in the archive, recorded in the same transaction.
CREATE TABLE ach_files (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  bank            text NOT NULL,
  name            text NOT NULL,
  archive_id      text NOT NULL,
  -- Hex, of the bytes. Other bytes are never sent under this name.
  sha256          text NOT NULL,
  entries         integer NOT NULL,
  -- 'unsendable': the archive no longer has the bytes.
  status          text NOT NULL DEFAULT 'recorded'
    CHECK (status IN ('recorded', 'uploaded', 'acknowledged', 'rejected', 'unsendable')),
  created_at      timestamptz(3) NOT NULL,
  -- The next upload, if it is not done by then.
  upload_due_at   timestamptz(3) NOT NULL,
  upload_attempts integer NOT NULL DEFAULT 0,
  uploaded_at     timestamptz(3),
  -- The next file does not wait any longer than this.
  overdue_at      timestamptz(3),
  -- The first day on which an entry should settle.
  settles_on      date NOT NULL,
  answered_at     timestamptz(3),
  UNIQUE (bank, name)
);
CREATE INDEX ach_files_open ON ach_files (bank, id) WHERE status IN ('recorded', 'uploaded', 'unsendable');

-- What the bank has said, in one order. `reference` is no reference of ours where nothing matches.
CREATE TABLE ach_feed (
  bank               text NOT NULL,
  sequence           bigint NOT NULL,
  reference          text NOT NULL COLLATE "C",
  type               text NOT NULL,
  return_reason_code text,
  rejection          jsonb,
  change_code        text,
  -- Corrected data of a notification of change, sealed under the contact's key.
  corrected          text,
  at                 timestamptz(3) NOT NULL,
  PRIMARY KEY (bank, sequence)
);
