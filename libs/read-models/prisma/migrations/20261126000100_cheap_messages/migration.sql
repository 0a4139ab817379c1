-- Sealed text does not compress, and the copy of a message fits into a page.
ALTER TABLE rail_file_parts ALTER COLUMN sealed SET STORAGE EXTERNAL;
ALTER TABLE rail_file_parts SET (toast_tuple_target = 8160);
-- The bank's answer changes the state, which no index has. With room in the page no index is written again.
ALTER TABLE iso_transfers SET (fillfactor = 70);
