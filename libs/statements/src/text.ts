/**
 * Texts of strangers on one line: names and references come from callers and payers. Whatever they contain, the line
 * stays a line. Nothing reorders it or hides a part, and its length is bounded.
 */

/** Stands for a character that the typeface lacks, and for control characters. */
export const replacement = '\uFFFD';
const ellipsis = '…';
/** On one letter. Some names of real people have two. */
const combiningMarksMax = 3;

export interface Limits {
  /** Characters (code points). */
  readonly max: number;
  readonly hasGlyph: (codePoint: number) => boolean;
}

/** @returns one line; empty if nothing visible is left */
export function plainLine(text: string, { max, hasGlyph }: Limits): string {
  // A text of any length costs no more than one that is a little too long.
  const start = text
    .slice(0, max * 4)
    .toWellFormed()
    .normalize('NFC');
  const line = start
    // Bidirectional overrides, zero-width characters, variation selectors: nobody sees them.
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[\s\u0085]+/gu, ' ')
    .replace(/\p{Cc}/gu, replacement)
    .replace(new RegExp(`(\\p{M}{${combiningMarksMax}})\\p{M}+`, 'gu'), '$1')
    .replace(/ +/g, ' ')
    .trim();
  const shown = Array.from(line, (character) =>
    hasGlyph(character.codePointAt(0) ?? 0) ? character : replacement,
  );
  const isCut = shown.length > max || text.length > max * 4;
  return isCut
    ? shown
        .slice(0, max - 1)
        .join('')
        .trimEnd() + ellipsis
    : shown.join('');
}

/** Lines of at most `width`, broken at spaces, and inside of a word that is wider than a line. */
export function wrapped(text: string, { width, linesMax, widthOf }: Wrapping): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.split(' ').flatMap((word) => pieces(word, width, widthOf))) {
    const longer = line === '' ? piece.text : `${line}${piece.joined ? '' : ' '}${piece.text}`;
    if (line === '' || widthOf(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = piece.text;
    }
  }
  if (line !== '') lines.push(line);
  if (lines.length <= linesMax) return lines;
  const last = shortened(lines[linesMax - 1] ?? '', width, widthOf);
  return [...lines.slice(0, linesMax - 1), last];
}

export interface Wrapping {
  /** Points. */
  readonly width: number;
  readonly linesMax: number;
  readonly widthOf: (text: string) => number;
}

interface Piece {
  readonly text: string;
  /** No space before it: it continues a word. */
  readonly joined: boolean;
}

function pieces(word: string, width: number, widthOf: (text: string) => number): Piece[] {
  if (widthOf(word) <= width) return [{ text: word, joined: false }];
  const found: Piece[] = [];
  let piece = '';
  // Marks stay with their letter.
  for (const [letter] of word.matchAll(/.\p{M}*/gu)) {
    if (piece !== '' && widthOf(piece + letter) > width) {
      found.push({ text: piece, joined: found.length > 0 });
      piece = '';
    }
    piece += letter;
  }
  return [...found, { text: piece, joined: found.length > 0 }];
}

function shortened(line: string, width: number, widthOf: (text: string) => number): string {
  const letters = Array.from(line);
  while (letters.length > 0 && widthOf(letters.join('') + ellipsis) > width) letters.pop();
  return letters.join('').trimEnd() + ellipsis;
}
