import { StreamTable } from './stream-table.js';

const hashOf = (n: number) => n.toString(16).padStart(64, '0');

it('remembers each of many streams', () => {
  const table = new StreamTable();
  const numbers = Array.from({ length: 30_000 }, (_, n) => n);
  const isNew = numbers.map((n) => {
    const row = table.rowOf(`payment-${n}`);
    const before = [table.revision(row), table.status(row)];
    table.setLast(row, n % 7, hashOf(n));
    table.setStatus(row, n % 9);
    table.setMoney(row, n * 1_000_003, n % 11);
    return before;
  });
  expect(isNew).toEqual(numbers.map(() => [-1, 0]));
  const remembered = numbers.map((n) => {
    const row = table.rowOf(`payment-${n}`);
    const money = [table.amountMinor(row), table.originator(row)];
    return [table.revision(row), table.hash(row), table.status(row), ...money];
  });
  expect(remembered).toEqual(numbers.map((n) => [n % 7, hashOf(n), n % 9, n * 1_000_003, n % 11]));
  expect(table.size).toBe(numbers.length);
});

it('finds a stream again that was seen long ago', () => {
  const table = new StreamTable();
  const first = table.rowOf('payment-first');
  table.setStatus(first, 4);
  for (let n = 0; n < 30_000; n += 1) table.rowOf(`payment-${n}`);
  expect(table.rowOf('payment-first')).toBe(first);
  expect(table.rowOf('payment-first')).toBe(first);
  expect(table.status(first)).toBe(4);
  expect(table.size).toBe(30_001);
});
