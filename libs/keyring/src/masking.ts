/** How a number may be shown: leading asterisks, a few last characters (rule masking-1). */

const visible = 4;
/** Of a number so short that four characters would be all of it. */
const visibleOfShort = 2;

/** Keeps the length: `000123456789` becomes `********6789`, `1234` becomes `**34`. */
export function maskNumber(number: string): string {
  const shown = number.length > visible ? visible : visibleOfShort;
  return number.slice(-shown).padStart(number.length, '*');
}
