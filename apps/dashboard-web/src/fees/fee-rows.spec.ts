import { emptyRow, readRow, rowOf, schedulesIn, statesOf } from './fee-rows.js';

const plain = { discountFeeBasisPoints: 0, flatFee: 0, returnFee: 0 };

it.each([
  plain,
  {
    originatorId: 'a',
    rail: 'ACH',
    direction: 'INBOUND',
    from: '2027-01-01T05:30:00.000Z',
    discountFeeBasisPoints: 29,
    discountFeeMin: 1,
    discountFeeCap: 123_456,
    flatFee: 5,
    returnFee: 10_000,
  } as const,
])('what the form shows of %j is what it sends', (schedule) => {
  expect(readRow(rowOf(schedule))).toEqual({ schedule, problems: {} });
});

it('a date is the beginning of that day', () => {
  const from = '2027-01-01T00:00:00.000Z';
  expect(rowOf({ ...plain, from }).from).toBe('2027-01-01');
});

it.each([0, 1, 7, 29, 57, 100, 1_015, 9_999, 10_000])(
  '%d basis points read as written',
  (points) => {
    const { percent } = rowOf({ ...plain, discountFeeBasisPoints: points });
    expect(readRow({ ...emptyRow(), percent }).schedule.discountFeeBasisPoints).toBe(points);
  },
);

it.each(['', 'x', '0.255', '-1', '1e2', '1,5'])('%j is no percentage', (percent) => {
  const { schedule, problems } = readRow({ ...emptyRow(), percent });
  expect(schedule.discountFeeBasisPoints).toBeUndefined();
  expect(problems.percent).toMatch(/percentage/);
});

it('names each amount that cannot be read, and never sends it as zero', () => {
  const row = { ...emptyRow(), flat: '', returned: '1.234', min: 'a', cap: '-1' };
  const { schedule, problems } = readRow(row);
  expect(Object.keys(problems).toSorted()).toEqual(['cap', 'flat', 'min', 'returned']);
  expect(schedule).toEqual({ discountFeeBasisPoints: 0 });
});

it('a schedule is replaced by a later one for the same payments, once that is in force', () => {
  const now = Date.parse('2027-06-01T00:00:00.000Z');
  const schedules = [
    plain,
    { ...plain, from: '2027-01-01T00:00:00.000Z' },
    { ...plain, from: '2027-07-01T00:00:00.000Z' },
    { ...plain, rail: 'ACH' as const },
    { ...plain, rail: 'ACH' as const, from: '2028-01-01T00:00:00.000Z' },
  ];
  expect(statesOf(schedules, now)).toEqual([
    ...['replaced', 'in force', 'to come', 'in force', 'to come'],
  ]);
});

it('a file has a list of schedules', () => {
  expect(schedulesIn('{"schedules":[{}]}')).toEqual([{}]);
  for (const text of ['', 'x', 'null', '[]', '{"schedules":{}}'])
    expect(() => schedulesIn(text)).toThrow(/^This file/);
});
