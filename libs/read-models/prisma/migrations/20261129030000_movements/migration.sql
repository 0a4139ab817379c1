-- Movements of money on the accounts of originators: a read model (projection `movements`). Statements, exports and
-- reconciliation read it.

-- One row for each transfer, moved or not: what its movements are made of. A return comes months later and says
-- neither whose it is nor how much it is.
CREATE TABLE transfers (
  transfer_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  -- 'payment' or 'collection'.
  owner text COLLATE "C" NOT NULL,
  -- Of the originator's account, when the transfer completes.
  side text COLLATE "C" NOT NULL,
  -- With the processing fee that the payer of a link pays.
  amount_minor bigint NOT NULL,
  rail text COLLATE "C" NOT NULL,
  -- Under which it was submitted to the bank.
  reference text COLLATE "C",
  completed_at timestamptz(3),
  completed_position text COLLATE "C",
  -- The bank's own reference of the return.
  return_reference text COLLATE "C",
  returned_at timestamptz(3),
  returned_position text COLLATE "C",
  revision integer NOT NULL
) WITH (fillfactor = 80);

-- One row for each movement: a transfer that completed, or its return.
CREATE TABLE movements (
  movement_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id uuid NOT NULL,
  -- One of the two is null.
  payment_id uuid,
  collection_id uuid,
  -- 'transfer', 'return', 'collection' or 'collection_return'.
  kind text COLLATE "C" NOT NULL,
  -- 'credit' or 'debit' of the originator's account.
  side text COLLATE "C" NOT NULL,
  amount_minor bigint NOT NULL,
  rail text COLLATE "C" NOT NULL,
  reference text COLLATE "C",
  at timestamptz(3) NOT NULL,
  -- Of the event, in the log. Its order as bytes is the order of the log.
  position text COLLATE "C" NOT NULL
);
CREATE INDEX movements_by_time ON movements (organization_id, at, movement_id);
CREATE INDEX movements_by_originator ON movements (organization_id, originator_id, at, movement_id);
CREATE INDEX movements_by_payment ON movements (payment_id) WHERE payment_id IS NOT NULL;
