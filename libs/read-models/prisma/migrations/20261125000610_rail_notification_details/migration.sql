-- Why the bank rejected a transfer, or the corrected data of a notification of change (sealed).
ALTER TABLE rail_notifications ADD COLUMN detail jsonb;
