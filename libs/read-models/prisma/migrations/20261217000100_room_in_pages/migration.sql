-- Most rows of these tables are changed once or twice, in columns that no index has: with room in the page for all of them,
-- no index is written again. Before, half of the new versions went to other pages.
ALTER TABLE iso_transfers SET (fillfactor = 50);
ALTER TABLE payment_figures SET (fillfactor = 60);
ALTER TABLE transfers SET (fillfactor = 60);
-- A change of the status writes all indexes, but in the same page less of the row. More room would cost more disk than it
-- saves of the WAL.
ALTER TABLE payments SET (fillfactor = 70);
