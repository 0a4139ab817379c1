-- Monthly statements: a read model of the projection `directory`. The documents are in the store of documents.
CREATE TABLE statements (
  statement_id    uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  originator_id   uuid NOT NULL,
  period_year     integer NOT NULL,
  period_month    integer NOT NULL,
  generated_at    timestamptz(3) NOT NULL,
  size_bytes      bigint NOT NULL,
  sha256          text COLLATE "C" NOT NULL,
  revision        integer NOT NULL
);
CREATE INDEX statements_by_time ON statements (organization_id, generated_at DESC, statement_id DESC);
CREATE INDEX statements_by_originator ON statements (organization_id, originator_id, generated_at DESC, statement_id DESC);
