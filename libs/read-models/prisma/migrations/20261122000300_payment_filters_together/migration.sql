-- Filters together must cost no more than one alone. With an index for each filter a list of two of them
-- walks the index of one and drops what the other does not want: a million rows, when none fits both.
-- In these an equal status, direction, rail and originator is one range in the order of the list; for a
-- filter that is not given the query takes one range per value (payments-query.ts).
CREATE INDEX payments_by_class
  ON payments (organization_id, status, direction, payment_rail, created_at DESC, payment_id DESC);
CREATE INDEX payments_by_originator_and_class
  ON payments (organization_id, originator_id, status, direction, payment_rail, created_at DESC, payment_id DESC);

-- Each change of a status writes every index. Last, since it keeps readers out until the end.
DROP INDEX payments_by_status, payments_by_direction, payments_by_rail;
