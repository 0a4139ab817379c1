-- Which returns of an entry are in the feed: the trace number of each return and its reason.
ALTER TABLE ach_entries ADD COLUMN returns_told text[] COLLATE "C" NOT NULL DEFAULT '{}';
