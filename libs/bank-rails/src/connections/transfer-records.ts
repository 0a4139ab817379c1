/** Which connections have a record of a transfer: it was handed to them, or voided there, whether the log knows of it or not. */

/**
 * SQL: the `connection` of each record of the reference that the expression names. A look-up in the primary key of each table.
 */
export const recordsSql = (reference: string) => `
  SELECT bank AS connection FROM ach_entries WHERE reference = ${reference}
  UNION ALL SELECT connection FROM iso_transfers WHERE reference = ${reference}`;
