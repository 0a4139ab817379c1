-- Snapshots of parties are sealed from now on. Those in plain text are of no use to this release.
DELETE FROM stream_snapshots
WHERE (stream_id LIKE 'contact-%' OR stream_id LIKE 'originator-%') AND left(state, 1) = '{';
