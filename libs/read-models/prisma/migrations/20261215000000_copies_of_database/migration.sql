-- A copy by CREATE DATABASE … TEMPLATE is on the same server, and its tables have the identifiers of the original's. Only the
-- identifier of the database tells them apart: a copy that takes the place of the database pauses the connections, too.

-- Whoever compares an identity meanwhile waits, and then sees both the new rows and the new function.
LOCK TABLE rail_connections IN ACCESS EXCLUSIVE MODE;

-- Connections that are bound stay bound.
DO $$
DECLARE
  before text := rail_database_identity();
BEGIN
  UPDATE rail_connections
     SET identity = before || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())
   WHERE identity = before;
END
$$;

CREATE OR REPLACE FUNCTION rail_database_identity() RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
  server text := '';
  timeline text := '';
BEGIN
  BEGIN
    SELECT system_identifier::text INTO server FROM pg_control_system();
  EXCEPTION WHEN insufficient_privilege THEN
    NULL;
  END;
  BEGIN
    IF NOT pg_is_in_recovery() THEN
      timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    END IF;
  EXCEPTION WHEN insufficient_privilege THEN
    NULL;
  END;
  RETURN server || '/' || timeline || '/' || 'rail_connections'::regclass::oid
    || '/' || (SELECT oid FROM pg_database WHERE datname = current_database());
END
$$;
