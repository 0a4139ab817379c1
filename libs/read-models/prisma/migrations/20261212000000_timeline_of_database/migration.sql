-- A user who may not read the identifier of the server may read its timeline: then a failover pauses the connections, too.
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
  RETURN server || '/' || timeline || '/' || 'rail_connections'::regclass::oid;
END
$$;

-- Connections that such a user has bound stay bound.
DO $$
DECLARE
  timeline text;
BEGIN
  timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
  UPDATE rail_connections SET identity = '/' || timeline || '/' || 'rail_connections'::regclass::oid
   WHERE identity = '//' || 'rail_connections'::regclass::oid;
EXCEPTION WHEN insufficient_privilege THEN
  NULL;
END
$$;
