-- Under which the bank has a return in its books: the trace number of the returned entry. Null in older rows.
ALTER TABLE ach_feed ADD COLUMN return_reference text COLLATE "C";
