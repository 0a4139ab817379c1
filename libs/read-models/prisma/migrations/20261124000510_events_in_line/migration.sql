-- The first event of a payment has about 2.1 kB with its sealed parties. From 2 kB on PostgreSQL tries to compress
-- a value and moves it to another table. Sealed text does not compress, so both cost time for nothing.
ALTER TABLE events SET (toast_tuple_target = 8160);
