-- Inquiries are collected: one file asks about many entries.
ALTER TABLE ach_entries ADD COLUMN inquiry_wanted_at timestamptz(3);
CREATE INDEX ach_entries_inquiries ON ach_entries (bank, inquiry_wanted_at)
  WHERE inquiry_wanted_at IS NOT NULL AND status = 'filed';
-- When the last inquiry file was begun.
ALTER TABLE ach_banks ADD COLUMN inquired_at timestamptz(3);
