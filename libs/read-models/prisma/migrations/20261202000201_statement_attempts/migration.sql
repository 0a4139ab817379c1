-- The documents that attempts to generate a statement have stored: those of broken attempts are removed by it.
CREATE TABLE statement_attempts (
  statement_id uuid NOT NULL,
  document_id  uuid NOT NULL,
  PRIMARY KEY (statement_id, document_id)
);
