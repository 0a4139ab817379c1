/**
 * The visual order of a line that mixes directions. A simple case of the Unicode Bidirectional Algorithm (UAX #9): the
 * first letter says which way the line runs, and plainLine() has removed every explicit control.
 */

export interface Run {
  readonly text: string;
  readonly rightToLeft: boolean;
}

const rightToLeftLetter =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const digit = /\p{Nd}/u;
const letter = /\p{L}/u;
const mirrored = new Map(
  ['()', '[]', '{}', '<>', '«»', '‹›'].flatMap(([open = '', close = '']) => [
    [open, close],
    [close, open],
  ]),
);

/** From left to right. Each run is in logical order; one that runs to the left is turned when it is shaped. */
export function visualRuns(line: string): readonly Run[] {
  if (!rightToLeftLetter.test(line)) return [{ text: line, rightToLeft: false }];
  const visual: Run[] = [];
  let turned: Run[] = [];
  for (const { text, level } of levelRuns(line)) {
    if (level === 0) {
      visual.push(...turned.toReversed(), { text, rightToLeft: false });
      turned = [];
    } else turned.push({ text: level === 1 ? mirror(text) : text, rightToLeft: level === 1 });
  }
  return [...visual, ...turned.toReversed()];
}

/** 0: left to right. 1: right to left. 2: left to right among letters that run to the left. */
type Level = 0 | 1 | 2;

function levelRuns(line: string): { text: string; level: Level }[] {
  const runs: { text: string; level: Level }[] = [];
  const characters = Array.from(line);
  const base = characters.find((character) => letter.test(character)) ?? '';
  const paragraph = rightToLeftLetter.test(base) ? 1 : 0;
  const strong = strongLevels(characters, paragraph);
  characters.forEach((character, at) => {
    const level = strong[at] ?? levelBetween(strong, at, paragraph);
    const last = runs.at(-1);
    if (last?.level === level) last.text += character;
    else runs.push({ text: character, level });
  });
  return runs;
}

/** Null: spaces and punctuation, which go with what surrounds them. */
function strongLevels(characters: readonly string[], paragraph: 0 | 1): (Level | null)[] {
  let isTurned = paragraph === 1;
  return characters.map((character) => {
    if (rightToLeftLetter.test(character)) {
      isTurned = true;
      return 1;
    }
    if (digit.test(character)) return isTurned ? 2 : 0;
    if (!letter.test(character)) return null;
    isTurned = paragraph === 1;
    return isTurned ? 2 : 0;
  });
}

function levelBetween(strong: readonly (Level | null)[], at: number, paragraph: 0 | 1): Level {
  const before = strong.slice(0, at).findLast((level) => level !== null) ?? paragraph;
  const after = strong.slice(at).find((level) => level !== null) ?? paragraph;
  if (before === after) return before;
  return before > 0 && after > 0 ? 1 : 0;
}

function mirror(text: string): string {
  return Array.from(text, (character) => mirrored.get(character) ?? character).join('');
}
