import { readFileSync } from 'node:fs';
import path from 'node:path';
import { returnAdvice, returnReasonOf, returnReasons } from './return-reasons.js';

const docs = path.join(import.meta.dirname, '../../../../docs/return-reasons.md');

it('docs/return-reasons.md shows the table', () => {
  const rows = readFileSync(docs, 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, code = '']) => /^R\d\d$/.test(code))
    .map(([, code, title, advice]) => ({ code, title, advice: advice === '' ? null : advice }));
  expect(rows).toEqual(Object.keys(returnReasons).map(returnReasonOf));
});

it('there is advice for known codes alone, and a code that is not known has no words', () => {
  expect(Object.keys(returnReasons)).toEqual(expect.arrayContaining(Object.keys(returnAdvice)));
  expect(returnReasonOf('R99')).toEqual({ code: 'R99', title: null, advice: null });
});
