-- A statement is planned while the table is small, and keeps that plan. Of indexes that all begin with the connection
-- any looks as good as the one that fits, and it is read from end to end later. So each begins with what is looked up.
ALTER TABLE iso_transfers DROP CONSTRAINT iso_transfers_pkey,
  ADD CONSTRAINT iso_transfers_pkey PRIMARY KEY (reference, connection);
DROP INDEX iso_transfers_by_message, iso_transfers_by_instruction, iso_transfers_by_uetr;
CREATE INDEX iso_transfers_by_message ON iso_transfers (message_id, connection);
CREATE INDEX iso_transfers_by_instruction ON iso_transfers (instruction_id, connection);
CREATE INDEX iso_transfers_by_uetr ON iso_transfers (uetr, connection);
