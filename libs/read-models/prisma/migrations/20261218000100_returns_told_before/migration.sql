-- A statement of its own, which does not lock the table. Rows of the feed without a trace number tell nothing.
UPDATE ach_entries e
   SET returns_told = ARRAY[f.return_reference || ' ' || coalesce(f.return_reason_code, '')]
  FROM ach_feed f
 WHERE f.type = 'returned' AND f.return_reference IS NOT NULL
   AND f.bank = e.bank AND f.reference = e.reference;
