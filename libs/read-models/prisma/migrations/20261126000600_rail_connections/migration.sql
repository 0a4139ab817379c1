-- Whether new transfers may go over each connection to a bank. A rail-executor adds a row when it first uses one.
-- Nothing new is sent while the row is paused, or while its identity is not that of this database: then the
-- database was restored, and the tables of files and messages may lack what the bank got since the backup.
CREATE TABLE rail_connections (
  connection   text PRIMARY KEY COLLATE "C",
  -- rail_database_identity() of the database whose tables are known to be complete.
  identity     text NOT NULL,
  paused_at    timestamptz(3),
  pause_reason text,
  -- The numbers of files and messages may have been used: they move ahead when the connection is resumed.
  is_restored  boolean NOT NULL DEFAULT false
);

-- Another one after any restore but that of a snapshot of the disk: the server's identifier differs on another
-- server, its timeline after a recovery from the archive or the promotion of a replica, and the table's
-- identifier after a dump was read in. Parts that the user may not read stay empty.
CREATE FUNCTION rail_database_identity() RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
  server text := '';
  timeline text := '';
BEGIN
  BEGIN
    SELECT system_identifier::text INTO server FROM pg_control_system();
    IF NOT pg_is_in_recovery() THEN
      timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    END IF;
  EXCEPTION WHEN insufficient_privilege THEN
    NULL;
  END;
  RETURN server || '/' || timeline || '/' || 'rail_connections'::regclass::oid;
END
$$;
