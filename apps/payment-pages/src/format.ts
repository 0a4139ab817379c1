/** How the pages write amounts and times. */

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** `$1,234.56` in every language, from minor units. */
export function amountText(amountMinor: number): string {
  return dollars.format(amountMinor / 100);
}

export function dateText(iso: string, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(
    Date.parse(iso),
  );
}

export function timeText(iso: string, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  return `${format.format(Date.parse(iso))} UTC`;
}
