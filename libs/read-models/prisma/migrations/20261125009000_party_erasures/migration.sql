-- Contacts and originators whose erasure was ever requested, and how far it has come. `pis` writes the row before
-- it looks for payments that are not final; the directory projection keeps it in line with the log. The
-- executors ask for it before they claim a payment: whoever has a row `requested` or `confirmed` is looked up
-- in the log first.
CREATE TABLE party_erasures (
  party_id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('contact', 'originator')),
  phase text NOT NULL CHECK (phase IN ('requested', 'withdrawn', 'confirmed', 'erased')),
  -- When the erasure that is under way was requested first.
  since timestamptz(3) NOT NULL,
  -- Of the last step in the log. An older step changes nothing.
  position text COLLATE "C" NOT NULL
);
CREATE INDEX party_erasures_under_way ON party_erasures (since) WHERE phase IN ('requested', 'confirmed');
-- Erasures whose copies have not been rewritten once.
CREATE INDEX erased_parties_unfinished ON erased_parties (erased_at) WHERE passes = 0;
