-- Due payments are looked up for each connection, by rail_pending_due, in the previous release, too.
DROP INDEX rail_pending_deadline;
