import { amountMinorOf, money, nameOf, shortTimeText } from './format.js';

it('shows amounts in dollars', () => {
  expect([0, 5, 123_456, 100_000_000].map(money)).toEqual([
    '$0.00',
    '$0.05',
    '$1,234.56',
    '$1,000,000.00',
  ]);
});

it.each([
  ['1', 100],
  ['1.5', 150],
  ['0.29', 29],
  [' $1,234.56 ', 123_456],
  ['1234.56', 123_456],
  ['1,000,000', 100_000_000],
])('reads the amount %j exactly', (text, minor) => {
  expect(amountMinorOf(text)).toBe(minor);
});

it.each(['', '0', '0.00', '-1', '1.234', '1,23', '12,34.5', '1e3', 'abc', '1.', '9'.repeat(20)])(
  'does not take %j for an amount',
  (text) => {
    expect(amountMinorOf(text)).toBeNull();
  },
);

it('names companies and people, and nobody who was erased', () => {
  const nobody = { firstName: null, lastName: null, companyName: null };
  expect(nameOf({ ...nobody, companyName: 'Acme' })).toBe('Acme');
  expect(nameOf({ ...nobody, firstName: 'Ada', lastName: 'Lovelace' })).toBe('Ada Lovelace');
  expect(nameOf(nobody)).toBeNull();
});

it('leaves out of names what turns the direction of the text behind them', () => {
  const nobody = { firstName: null, lastName: null, companyName: null };
  expect(nameOf({ ...nobody, companyName: '\u202eAcme\u2066' })).toBe('Acme');
  expect(nameOf({ ...nobody, firstName: 'Ada\u202b', lastName: 'شركة' })).toBe('Ada شركة');
});

it('writes times of columns short, with the year only if it is another one', () => {
  const now = new Date(2026, 10, 23);
  const at = (time: Date) => shortTimeText(time.toISOString(), now);
  expect(at(new Date(2026, 10, 22, 0, 53))).toMatch(/^Nov 22, 12:53\sAM$/);
  expect(at(new Date(2025, 10, 22, 0, 53))).toBe('Nov 22, 2025');
});
