-- Up to which month each organization has its statements. Not rebuilt: starting anew finds the statements that are there.
CREATE TABLE statement_runs (
  organization_id uuid PRIMARY KEY,
  done_year       integer NOT NULL,
  done_month      integer NOT NULL
);
