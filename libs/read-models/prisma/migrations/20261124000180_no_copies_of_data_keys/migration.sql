-- ANALYZE copied samples of wrapped keys into pg_statistic, where they outlived their destruction. No query filters
-- by these columns. A change of the type, which changes nothing else, removes the samples that are there.
ALTER TABLE data_keys ALTER COLUMN wrapped SET STATISTICS 0;
ALTER TABLE data_keys ALTER COLUMN wrapped TYPE text;
ALTER TABLE keyring_state ALTER COLUMN mac_root SET STATISTICS 0;
ALTER TABLE keyring_state ALTER COLUMN mac_root TYPE text;

-- A destroyed key is in a dead row until a vacuum. With the default, a fifth of the rows had to be dead first.
ALTER TABLE data_keys SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 0);
