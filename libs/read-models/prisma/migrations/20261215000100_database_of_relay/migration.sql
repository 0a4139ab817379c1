-- Of the relay: rail_database_identity() of the database in which it last became active. In another one the database was restored
-- or failed over. Null for other groups, and before the relay of this release becomes active.
ALTER TABLE consumer_checkpoints ADD COLUMN database_identity text;
