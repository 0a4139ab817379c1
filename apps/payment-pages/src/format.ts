/** How the pages write amounts and times. */

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** `$1,234.56` in every language, from minor units. */
export function amountText(amountMinor: number): string {
  return dollars.format(amountMinor / 100);
}

export function dateText(iso: string, locale: string): string {
  return formatIn(locale).date.format(Date.parse(iso));
}

export function timeText(iso: string, locale: string): string {
  return `${formatIn(locale).time.format(Date.parse(iso))} UTC`;
}

interface Formats {
  readonly date: Intl.DateTimeFormat;
  readonly time: Intl.DateTimeFormat;
}

const formats = new Map<string, Formats>();

/** Made once for each language: making one takes as long as the rest of a page. */
function formatIn(locale: string): Formats {
  const known = formats.get(locale);
  if (known !== undefined) return known;
  const made = {
    date: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }),
    time: new Intl.DateTimeFormat(locale, {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'UTC',
    }),
  };
  formats.set(locale, made);
  return made;
}
