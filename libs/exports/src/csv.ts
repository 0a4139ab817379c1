/**
 * Comma-separated values (RFC 4180): lines end with CRLF, a field is quoted where it must be. A text that a
 * spreadsheet would take for a formula gets an apostrophe before it (OWASP, "CSV injection"). In many countries a
 * spreadsheet separates cells at semicolons, and then at each line break, too, because quotes in the middle of a cell
 * do not count. So each part of a text that would be a cell there is treated in the same way.
 */
export type CsvValue = string | number | null;

/** Before each formula, also behind white space. Some spreadsheets take the wide forms for the usual ones. */
const formulas = /^(?=[\t\r\n])|(?<=^|[;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** Quick to test: almost no text has formulas, and files have millions of texts. */
const mayHaveFormulas = /^[\s=+\-@\uff1d\uff0b\uff0d\uff20]|[;\t\r\n]/;
/** Semicolons and tabs, too: some spreadsheets separate at them beside commas. */
const special = /[",;\t\r\n]/;

export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}

/** Null is an empty field. */
function csvField(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = mayHaveFormulas.test(value) ? value.replaceAll(formulas, "'") : value;
  return special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
