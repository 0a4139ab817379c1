/**
 * Comma-separated values (RFC 4180): lines end with CRLF, a field is quoted where it must be. A text that a
 * spreadsheet would take for a formula gets an apostrophe before it (OWASP, "CSV injection").
 */
export type CsvValue = string | number | null;

/** Also behind white space, and the wide forms: some spreadsheets ignore the difference. */
const formula = /^(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const special = /[",\r\n]/;

export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** Null is an empty field. */
function csvField(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = formula.test(value) ? `'${value}` : value;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
