-- A statement is planned while the table is small, and keeps that plan. Any index with the bank looks as good then as the
-- one that fits, and it is read from end to end later. So the trace number comes first, and age needs no bank.
DROP INDEX ach_entries_by_trace, ach_entries_by_age;
CREATE INDEX ach_entries_by_trace ON ach_entries (trace_number, bank) WHERE trace_number IS NOT NULL;
CREATE INDEX ach_entries_by_age ON ach_entries (submitted_at);
