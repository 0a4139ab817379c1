-- Sign-ins with an OpenID provider that came back, so that none counts twice. Rows are deleted when they have ended.
CREATE TABLE oidc_attempts_used (
  -- SHA-256 of the state.
  digest  bytea PRIMARY KEY,
  ends_at timestamptz(3) NOT NULL
);
CREATE INDEX oidc_attempts_used_by_end ON oidc_attempts_used (ends_at);
