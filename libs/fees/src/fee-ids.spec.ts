import { collectionIdOf, feePeriodIdOf } from './fee-ids.js';

// A month that an earlier release has collected would be collected again under another ID.
it('a month and its collections have the same IDs in every release', () => {
  const originatorId = '4f6f1c1e-3c69-4d5a-9a51-6f3c62a2f7d1';
  const feePeriodId = feePeriodIdOf(originatorId, { year: 2026, month: 10 });
  expect(feePeriodId).toBe('35affe55-dee8-56a6-ab55-92394c3ae80d');
  expect([1, 2].map((attempt) => collectionIdOf(feePeriodId, attempt))).toEqual([
    'f1d8341a-8f83-5378-9c8f-5e247b946f97',
    '133da4b4-7af3-5475-bf61-24a6e984f6e2',
  ]);
});
