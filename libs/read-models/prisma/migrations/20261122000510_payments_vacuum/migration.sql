-- Each payment was once QUEUED and PROCESSING, and leaves an entry under those statuses in the indexes until
-- the table is vacuumed or a list has come by. A list whose filters take in these statuses reads past them:
-- with PostgreSQL's own fifth of the table, a hundred thousand at a million payments. The index entries too,
-- though they are few beside the table, else they would be left for another time.
ALTER TABLE payments SET (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  vacuum_index_cleanup = on
);
