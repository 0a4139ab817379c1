-- How far rail-executor has read the log for payments that are not at their end. Not a checkpoint of a
-- consumer: reading again only makes rows that are there already, so it starts over by itself.
CREATE TABLE rail_log_place (
  reader     text PRIMARY KEY,
  -- Of the last payment event that was read. Compares as text in the log's order, hence the collation.
  position   text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
DELETE FROM consumer_checkpoints WHERE consumer_group = 'rail-open-payments';
