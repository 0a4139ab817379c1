/** Dates in NACHA files: six digits YYMMDD. */

const century = '20';

export function isIsoDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00.000Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** @param isoDate a date of this century, or of the last one where `pastDateOf` reads it back */
export function sixDigitsOf(isoDate: string): string {
  return isoDate.slice(2).replaceAll('-', '');
}

/** YYYY-MM-DD in this century. Null if the digits are no date. */
export function dateOf(sixDigits: string): string | null {
  const [, year = '', month = '', day = ''] = /^(\d\d)(\d\d)(\d\d)$/.exec(sixDigits) ?? [];
  const date = `${century}${year}-${month}-${day}`;
  return isIsoDate(date) ? date : null;
}

/** The latest such date that is not after `today` (YYYY-MM-DD). Null if the digits are no date. */
export function pastDateOf(sixDigits: string, today: string): string | null {
  const date = dateOf(sixDigits);
  if (date !== null && date <= today) return date;
  const earlier = `${String(Number(century) - 1)}${sixDigits.slice(0, 2)}-${sixDigits.slice(2, 4)}-${sixDigits.slice(4)}`;
  return isIsoDate(earlier) ? earlier : null;
}
