import { plainLine, replacement, wrapped } from './text.js';

const plain = (text: string, max = 40) =>
  plainLine(text, { max, hasGlyph: (codePoint) => codePoint < 0x3000 || codePoint > 0xfff0 });

it.each([
  ['keeps names as they are', 'José Ñuñez-O’Neill', 'José Ñuñez-O’Neill'],
  ['makes one line of several', ' a\n\tb\r\n c\u2028d ', 'a b c d'],
  ['shows control characters', 'nul\u0000bell\u0007', `nul${replacement}bell${replacement}`],
  ['removes bidirectional overrides', 'pay\u202Elap\u202C\u2066x', 'paylapx'],
  ['removes what nobody sees', 'a\u200Bb\u00ADc\uFEFFd', 'abcd'],
  ['shows half a character as what it is', 'a\uD800b', `a${replacement}b`],
  ['shows characters that the typeface lacks', '株式会社 Ltd', `${replacement.repeat(4)} Ltd`],
  ['composes accents', 'e\u0301', 'é'],
  ['leaves three marks on a letter', `x${'\u0334'.repeat(50)}y`, `x${'\u0334'.repeat(3)}y`],
  ['leaves nothing of nothing', '\u202E \u200B\n', ''],
])('%s', (_title, text, expected) => {
  expect(plain(text)).toBe(expected);
});

it('cuts a long text, and shows that it did', () => {
  expect(plain('a'.repeat(10_000))).toBe(`${'a'.repeat(39)}…`);
  expect(plain('a'.repeat(40))).toBe('a'.repeat(40));
});

it('breaks lines at spaces and inside of words that are too wide, never before a mark', () => {
  const wrap = (text: string, linesMax = 9) =>
    wrapped(text, { width: 5, linesMax, widthOf: (part) => Array.from(part).length });
  expect(wrap('ab cd ef')).toEqual(['ab cd', 'ef']);
  expect(wrap('abcdefghijkl mn')).toEqual(['abcde', 'fghij', 'kl mn']);
  expect(wrap('abcde\u0334f')).toEqual(['abcd', 'e\u0334f']);
  expect(wrap('one two three four', 2)).toEqual(['one', 'two…']);
  expect(wrap('')).toEqual([]);
});
