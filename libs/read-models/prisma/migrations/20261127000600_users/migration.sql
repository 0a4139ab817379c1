-- Dashboard users: how they sign in, and their sessions. Who a user is and may do is in the event log.
-- These are tables of record: they cannot be rebuilt from the log.
CREATE TABLE user_credentials (
  user_id         uuid PRIMARY KEY,
  -- A keyed MAC of the e-mail address in lower case. It reserves the address.
  email_mac       text NOT NULL UNIQUE COLLATE "C",
  organization_id uuid NOT NULL,
  -- argon2id in PHC form. Null until the user's first event is stored.
  password_hash   text,
  -- The secret of one-time codes, sealed under the user's key. It counts once it was confirmed by a code.
  totp_secret     text,
  totp_candidate  text,
  -- The time step of the last code that was accepted: no code is accepted twice.
  totp_last_step  bigint NOT NULL DEFAULT 0,
  failures        smallint NOT NULL DEFAULT 0,
  locked_until    timestamptz(3),
  last_sign_in_at timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX user_credentials_by_organization ON user_credentials (organization_id, created_at, user_id);

CREATE TABLE user_sessions (
  -- SHA-256 of the cookie.
  digest        bytea PRIMARY KEY,
  user_id       uuid NOT NULL REFERENCES user_credentials ON DELETE CASCADE,
  -- A session of an earlier epoch of its user is worth nothing.
  session_epoch integer NOT NULL,
  created_at    timestamptz(3) NOT NULL DEFAULT now(),
  last_seen_at  timestamptz(3) NOT NULL DEFAULT now(),
  expires_at    timestamptz(3) NOT NULL
);
CREATE INDEX user_sessions_by_user ON user_sessions (user_id, created_at DESC);
CREATE INDEX user_sessions_by_expiry ON user_sessions (expires_at);
