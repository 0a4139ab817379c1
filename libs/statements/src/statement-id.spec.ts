import { statementIdOf } from './generation.js';

// A month that has its statement would get another one under another ID.
it('the statement of a month has the same ID in every release', () => {
  const originatorId = '4f6f1c1e-3c69-4d5a-9a51-6f3c62a2f7d1';
  expect(statementIdOf({ originatorId, year: 2026, month: 10 })).toBe(
    '35affe55-dee8-56a6-ab55-92394c3ae80d',
  );
});
