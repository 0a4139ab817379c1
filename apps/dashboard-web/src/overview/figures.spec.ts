import { countText, daysOf, durationText, durationTicks, rateText } from './figures.js';

it.each([
  [0, '0 ms'],
  [230.4, '230 ms'],
  [1_500, '1.5 s'],
  [59_400, '59 s'],
  [90_000, '1.5 min'],
  [3_600_000, '1 h'],
  [129_600_000, '1.5 d'],
])('%d ms read %s', (durationMs, text) => {
  expect(durationText(durationMs)).toBe(text);
});

it.each([
  [
    [230, 4_000],
    ['100 ms', '1 s', '10 s'],
  ],
  [[1_000], ['1 s', '10 s']],
  [
    [45_000, 90_000_000],
    ['10 s', '1 min', '10 min', '1 h', '6 h', '1 d', '7 d'],
  ],
  [[0.2], ['1 ms', '10 ms']],
  [
    [86_400_000, 10 * 86_400_000],
    ['1 d', '7 d', '10 d'],
  ],
])('a scale for durations of %j ms has marks below and above all of them', (durations, texts) => {
  expect(durationTicks(durations).map(durationText)).toEqual(texts);
});

it.each([
  [1, '100 %'],
  [0.9999, '99.9 %'],
  [0.5, '50 %'],
  [0.123, '12.3 %'],
  [0, '0 %'],
])('a rate of %d reads %s', (rate, text) => {
  expect(rateText(rate)).toBe(text);
});

it('counts one thing and many', () => {
  expect([countText(1, 'payment'), countText(1_234, 'payment')]).toEqual([
    '1 payment',
    '1,234 payments',
  ]);
});

it('has every day of the period', () => {
  const volume = [
    { day: '2026-11-02', direction: 'INBOUND', payments: 2, amount: 500 },
    { day: '2026-11-02', direction: 'OUTBOUND', payments: 1, amount: 70 },
  ];
  expect(daysOf('2026-11-01', '2026-11-03', volume)).toEqual([
    { day: '2026-11-01', INBOUND: 0, OUTBOUND: 0, payments: 0 },
    { day: '2026-11-02', INBOUND: 500, OUTBOUND: 70, payments: 3 },
    { day: '2026-11-03', INBOUND: 0, OUTBOUND: 0, payments: 0 },
  ]);
});
