import { canonicalJson } from '@pis/event-store';
import { readJson } from './canonical-text.js';

const values: readonly unknown[] = [
  null,
  -0,
  1e21,
  0.1,
  'plain',
  'with "quotes" and \\ and \n',
  'Zoë — 支払い 😀',
  '\ud800',
  '\u2028',
  [],
  {},
  [[], {}, [null, true, false]],
  { b: 1, a: { d: [1, { z: 1, y: 2 }], c: null } },
  { '': 1, ' ': 2, '!': 3, a: 4, 'a b': 5, 'a!': 6, ab: 7, é: 8, '"': 9, 10: 10, 9: 9 },
];

it.each(values.map((value) => [JSON.stringify(value), value]))(
  '%s becomes the same canonical text as the value',
  (text, value) => {
    expect(readJson(String(text))).toEqual({
      value: JSON.parse(String(text)),
      canonical: canonicalJson(value),
    });
  },
);

it.each(['{"a":1,"a":2}', ' { "b" : 1.0, "a" : [ ] } ', '{"__proto__":{"a":1}}', '"\\u0041"'])(
  '%s, which our stores do not write, becomes the canonical text of its value',
  (text) => {
    expect(readJson(text).canonical).toBe(canonicalJson(JSON.parse(text)));
  },
);

it('objects of one shape keep their own values', () => {
  const texts = ['{"b":1,"a":"x"}', '{"b":2,"a":"y"}', '{"a":3,"b":"z"}'];
  expect(texts.map((text) => readJson(text).canonical)).toEqual([
    '{"a":"x","b":1}',
    '{"a":"y","b":2}',
    '{"a":3,"b":"z"}',
  ]);
});

it('objects of many shapes with the same first key become canonical, twice', () => {
  const values = Array.from({ length: 40 }, (_, n) => ({ z: n, [`y${n % 25}`]: 1, a: { z: 2 } }));
  for (const value of [...values, ...values])
    expect(readJson(JSON.stringify(value)).canonical).toBe(canonicalJson(value));
});

it.each(['', '{', '{"a":1}x', '"a\nb"'])('%j is no JSON', (text) => {
  expect(() => readJson(text)).toThrow(SyntaxError);
});
