import type pg from 'pg';
import { erasedLookup } from './erased-lookup.js';

it('asks once for the events of a batch, and gives each its own erased parties', async () => {
  const asked: unknown[] = [];
  const query = ({ values }: { values: readonly unknown[] }) => {
    asked.push(...values);
    return Promise.resolve({ rows: [{ any: true, erased: ['b', 'c'] }] });
  };
  const lookup = erasedLookup({ query } as unknown as pg.Pool);
  expect(await Promise.all([lookup(['a', 'b']), lookup(['a', 'c']), lookup(['a'])])).toEqual([
    new Set(['b']),
    new Set(['c']),
    new Set(),
  ]);
  expect(asked).toEqual([['a', 'b', 'c']]);
});
