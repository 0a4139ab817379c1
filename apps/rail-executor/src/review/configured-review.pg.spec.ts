import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { instructionEnding } from '@pis/bank-rails/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { configuredReview } from './configured-review.js';

let database: TestDatabase;
let pool: pg.Pool;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-review-'));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

function reviewIn(text: string, environment: 'sandbox' | 'production' = 'production') {
  const file = path.join(folder, 'rules.yaml');
  writeFileSync(file, text);
  return configuredReview({ PIS_ENVIRONMENT: environment, PIS_REVIEW_RULES_FILE: file }, pool);
}

it('the example in deploy/ is read, and its rules hold', async () => {
  const file = path.join(import.meta.dirname, '../../../../deploy/review-rules.example.yaml');
  const review = configuredReview(
    { PIS_ENVIRONMENT: 'production', PIS_REVIEW_RULES_FILE: file },
    pool,
  );
  expect(await review.of(instructionEnding('4321'))).toEqual({ outcome: 'clear' });
  const listed = instructionEnding('4321', { contactName: 'Erika Mustermann' });
  expect(await review.of(listed)).toMatchObject({
    outcome: 'blocked',
    block: { rules: ['sanctions'] },
  });
  const large = instructionEnding('4321', { amountMinor: 500_000_001 });
  expect(await review.of(large)).toMatchObject({ block: { rules: ['very-large'] } });
});

it('a file replaces the rules of the sandbox, and production has none without a file', async () => {
  const blocked = instructionEnding('0301');
  const sandbox = configuredReview({ PIS_ENVIRONMENT: 'sandbox' }, pool);
  expect(await sandbox.of(blocked)).toMatchObject({ outcome: 'blocked' });
  expect(await reviewIn('rules: []', 'sandbox').of(blocked)).toEqual({ outcome: 'clear' });
  const production = configuredReview({ PIS_ENVIRONMENT: 'production' }, pool);
  expect(await production.of(blocked)).toEqual({ outcome: 'clear' });
});

it.each([
  [
    'a wrong value',
    'rules:\n  - name: a\n    when: { amountAbove: many }\n    then: block\n',
    /line 3: rules\.0\.when\.amountAbove/,
  ],
  ['broken YAML', 'rules: [', /line 1/],
  ['a list that is not there', 'lists: { a: { file: missing.txt } }\n', /missing\.txt: .*ENOENT/],
])('%s is refused with the variable, the file and the place', (_what, text, place) => {
  expect(() => reviewIn(text)).toThrow(place);
  expect(() => reviewIn(text)).toThrow(/PIS_REVIEW_RULES_FILE: .*pis-review/);
});
