/** How the pages write amounts and times. */

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** `$1,234.56` in every language, from minor units. */
export function amountText(amountMinor: number): string {
  return dollars.format(amountMinor / 100);
}

/** With the time zone: nobody knows that of the reader. */
export function timeText(iso: string, locale: string): string {
  return `${formatIn(locale).format(Date.parse(iso))} UTC`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Made once for each language: making one takes as long as the rest of a page. */
function formatIn(locale: string): Intl.DateTimeFormat {
  const known = formats.get(locale);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  formats.set(locale, made);
  return made;
}
