import { daysOf, money, monthName } from './words.js';

it.each([
  [0, '0.00'],
  [5, '0.05'],
  [99, '0.99'],
  [100_000, '1,000.00'],
  [99_999_999_999, '999,999,999.99'],
  [-123_456_789, '-1,234,567.89'],
  [Number.MAX_SAFE_INTEGER, '90,071,992,547,409.91'],
])('writes %d cents as %s', (minor, text) => {
  expect(money(minor)).toBe(text);
});

it.each([0.5, Number.NaN, 2 ** 53])('refuses %d, which is no exact amount', (minor) => {
  expect(() => money(minor)).toThrow(RangeError);
});

it('names the day of a time zone, on both sides of midnight and of a change of the clocks', () => {
  const days = daysOf('America/New_York');
  expect(days.short(new Date('2026-11-01T03:59:59.999Z'))).toBe('Oct 31');
  expect(days.short(new Date('2026-11-01T04:00:00.000Z'))).toBe('Nov 1');
  expect(days.long(new Date('2026-12-01T04:59:59.999Z'))).toBe('Nov 30, 2026');
  expect(daysOf('Pacific/Auckland').long(new Date('2026-12-31T11:00:00.000Z'))).toBe('Jan 1, 2027');
  expect(() => daysOf('Mars/Olympus')).toThrow(RangeError);
});

it('names a month', () => {
  expect(monthName(2026, 5)).toBe('May 2026');
});
