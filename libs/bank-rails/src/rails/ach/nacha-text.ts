/**
 * Text as a NACHA file can hold it: printable ASCII of a limited length. Names come in any script, so what has a
 * usual spelling in ASCII gets it, and what has none is left out. docs/rails-ach.md tells users the same.
 */

/** Letters and signs that do not come apart into an ASCII letter and a mark. */
const spellings: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  Ð: 'D',
  þ: 'th',
  Þ: 'Th',
  ħ: 'h',
  Ħ: 'H',
  ı: 'i',
  ŋ: 'n',
  Ŋ: 'N',
  '‘': "'",
  '’': "'",
  '‚': "'",
  ʼ: "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '‐': '-',
  '‑': '-',
  '‒': '-',
  '–': '-',
  '—': '-',
  '−': '-',
  '⁄': '/',
};
const printable = /^[\x20-\x7e]*$/;

/**
 * The text in printable ASCII, without spaces around it or runs of spaces in it, cut to `max` characters. Empty
 * when nothing of it can be written.
 */
export function nachaText(text: string, max: number): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\x20-\x7e]/gu, (character) => spellings[character] ?? ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
    .slice(0, max)
    .trimEnd();
}

/** What keeps a text out of a field of `max` characters, as the end of a sentence. Null if nothing does. */
export function textProblem(text: string, max: number): string | null {
  if (text.length > max) return `has more than ${String(max)} characters`;
  if (!printable.test(text)) return 'has characters outside printable ASCII';
  if (text !== text.trim()) return 'begins or ends with a space';
  return null;
}
