-- Failed sign-ins of networks, for all processes together. Rows are deleted when their window has ended.
CREATE TABLE sign_in_failures (
  -- A keyed MAC of the network: addresses are personal data.
  network_mac text PRIMARY KEY COLLATE "C",
  failures    integer NOT NULL,
  ends_at     timestamptz(3) NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sign_in_failures_by_end ON sign_in_failures (ends_at);
