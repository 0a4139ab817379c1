-- What the gateways have counted of each API key and address in the minute under way (PIS_RATE_LIMIT_STORE=postgres).
-- The layout is rate-limiter-flexible's. Unlogged: a count lost in a crash costs nobody anything, and without it
-- no counting waits for the disk. Half of each page is free, so that updates stay in it.
CREATE UNLOGGED TABLE rate_limits (
  key varchar(255) PRIMARY KEY,
  points integer NOT NULL,
  -- Milliseconds since 1970.
  expire bigint
) WITH (fillfactor = 50);
