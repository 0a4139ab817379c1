-- What came back of a returned transfer, where banks on the way kept a part: null for the whole amount, and without a
-- return. Rows of an earlier release are right as they are: its events name no amount.
ALTER TABLE transfers ADD COLUMN returned_amount_minor bigint;
