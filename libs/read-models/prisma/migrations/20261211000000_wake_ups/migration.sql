-- Wake the processes that wait for this work, instead of having them query for it all the time: see
-- libs/postgres/src/wake-ups.ts.
CREATE FUNCTION notify_of_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('pis_work', TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE TRIGGER wakes_exports AFTER INSERT ON exports
  FOR EACH STATEMENT EXECUTE FUNCTION notify_of_work('exports');
CREATE TRIGGER wakes_replays AFTER INSERT ON webhook_replays
  FOR EACH STATEMENT EXECUTE FUNCTION notify_of_work('replays');
CREATE TRIGGER wakes_audit AFTER UPDATE OF checkpoint_wanted ON audit_tree
  FOR EACH ROW WHEN (NEW.checkpoint_wanted AND NOT OLD.checkpoint_wanted)
  EXECUTE FUNCTION notify_of_work('audit');
