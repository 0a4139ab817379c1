-- Which payment the token of a link belongs to. The use case writes a row before it records the payment, and
-- the payments projection writes it again from the log. The rows of canceled payments are deleted.
CREATE TABLE payment_links (
  -- SHA-256 of the token.
  token_digest bytea PRIMARY KEY,
  payment_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  -- Of a counterparty that is no saved contact: its erasure finds the payment here.
  counterparty_id uuid
);
CREATE INDEX payment_links_by_payment ON payment_links (payment_id);
CREATE INDEX payment_links_by_counterparty ON payment_links (counterparty_id) WHERE counterparty_id IS NOT NULL;

-- Who opened a link, submitted it, and was shown it. A record: nothing else has these facts.
CREATE TABLE payment_link_accesses (
  access_id uuid PRIMARY KEY,
  payment_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('open', 'submit', 'show')),
  at timestamptz(3) NOT NULL,
  -- The user that was shown the link.
  actor text,
  -- What a submission came to; null while it is under way.
  outcome text,
  -- IP address and user agent, under the counterparty's key.
  sealed bytea
);
CREATE INDEX payment_link_accesses_by_payment ON payment_link_accesses (payment_id, at DESC, access_id);
