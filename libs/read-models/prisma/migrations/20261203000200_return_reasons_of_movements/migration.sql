-- Why the bank returned a transfer: null for other movements and when the bank gave no reason. Rows of an earlier release
-- lack it until the projection `movements` is rebuilt.
ALTER TABLE transfers ADD COLUMN return_reason_code text COLLATE "C";
ALTER TABLE movements ADD COLUMN return_reason_code text COLLATE "C";
