/**
 * Text as a NACHA file can hold it: printable ASCII of a limited length. Names are spelled as on the other rails, so
 * that a party has one name at the bank.
 */
import { railText } from '../iso20022/characters.js';

const printable = /^[\x20-\x7e]*$/;

/**
 * The text in printable ASCII on one line, cut to `max` characters. Empty when there is none. A name of which no
 * letter or digit is left is refused by entryProblem.
 */
export function nachaText(text: string, max: number): string {
  return railText(text, max);
}

/** What keeps a text out of a field of `max` characters, as the end of a sentence. Null if nothing does. */
export function textProblem(text: string, max: number): string | null {
  if (text.length > max) return `has more than ${String(max)} characters`;
  if (!printable.test(text)) return 'has characters outside printable ASCII';
  if (text !== text.trim()) return 'begins or ends with a space';
  return null;
}
