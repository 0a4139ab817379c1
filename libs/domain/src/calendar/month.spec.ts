import { isMonth, isTimeZone, lastEndedMonth, monthAfter, monthAt, monthOf } from './month.js';

const iso = (zone: string, year: number, month: number) => {
  const { from, to } = monthOf(zone, year, month);
  return [from.toISOString(), to.toISOString()];
};

describe('a month', () => {
  it.each([
    // Daylight-saving time begins and ends in New York.
    ['America/New_York', 2026, 3, '2026-03-01T05:00:00.000Z', '2026-04-01T04:00:00.000Z'],
    ['America/New_York', 2026, 11, '2026-11-01T04:00:00.000Z', '2026-12-01T05:00:00.000Z'],
    ['America/New_York', 2026, 12, '2026-12-01T05:00:00.000Z', '2027-01-01T05:00:00.000Z'],
    ['America/Los_Angeles', 2027, 2, '2027-02-01T08:00:00.000Z', '2027-03-01T08:00:00.000Z'],
    ['UTC', 2028, 2, '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    // East of UTC, and offsets that are no full hours.
    ['Europe/Berlin', 2026, 3, '2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z'],
    ['Asia/Kolkata', 2026, 6, '2026-05-31T18:30:00.000Z', '2026-06-30T18:30:00.000Z'],
    ['Asia/Kathmandu', 2026, 6, '2026-05-31T18:15:00.000Z', '2026-06-30T18:15:00.000Z'],
    ['Pacific/Kiritimati', 2026, 1, '2025-12-31T10:00:00.000Z', '2026-01-31T10:00:00.000Z'],
    ['Pacific/Pago_Pago', 2026, 1, '2026-01-01T11:00:00.000Z', '2026-02-01T11:00:00.000Z'],
    // South of the equator.
    ['Australia/Sydney', 2026, 4, '2026-03-31T13:00:00.000Z', '2026-04-30T14:00:00.000Z'],
    // The midnight was skipped: the first began at 01:00.
    ['America/Asuncion', 2017, 10, '2017-10-01T04:00:00.000Z', '2017-11-01T03:00:00.000Z'],
    // The last day of the year was skipped.
    ['Pacific/Apia', 2011, 12, '2011-12-01T10:00:00.000Z', '2011-12-31T10:00:00.000Z'],
  ])('of %s, %i-%i, is from %s to %s', (zone, year, month, from, to) => {
    expect(iso(zone, year, month)).toEqual([from, to]);
  });

  it.each([
    ...['America/New_York', 'America/Havana', 'America/St_Johns', 'Europe/London', 'Asia/Amman'],
    ...['America/Sao_Paulo', 'Africa/Casablanca', 'Pacific/Auckland', 'Australia/Lord_Howe'],
  ])('of %s begins where the one before it ends, and has each instant in between', (zone) => {
    let month = { year: 2005, month: 1 };
    for (let count = 0; count < 300; count += 1) {
      const { from, to } = monthOf(zone, month.year, month.month);
      const next = monthAfter(month);
      expect(monthOf(zone, next.year, next.month).from).toEqual(to);
      for (const atMs of [from.getTime(), from.getTime() + 45 * 60_000, to.getTime() - 1])
        expect(monthAt(zone, new Date(atMs))).toEqual(month);
      month = next;
    }
  });

  it('is no other than a calendar has', () => {
    expect(() => monthOf('UTC', 2026, 13)).toThrow(RangeError);
    expect(() => monthOf('UTC', 2026.5, 1)).toThrow(RangeError);
    expect(() => monthOf('Mars/Olympus', 2026, 1)).toThrow(RangeError);
    expect(isMonth({ year: 26, month: 1 })).toBe(false);
    expect(isMonth({ year: 2026, month: 0 })).toBe(false);
    expect(isMonth({ year: 2026, month: 12 })).toBe(true);
  });
});

it.each([
  ['America/New_York', '2026-12-01T04:59:59.999Z', { year: 2026, month: 10 }],
  ['America/New_York', '2026-12-01T05:00:00.000Z', { year: 2026, month: 11 }],
  ['America/New_York', '2027-01-31T23:00:00.000Z', { year: 2026, month: 12 }],
  ['Asia/Tokyo', '2026-11-30T15:00:00.000Z', { year: 2026, month: 11 }],
  ['Asia/Tokyo', '2026-11-30T14:59:59.999Z', { year: 2026, month: 10 }],
])('the last month that ended in %s by %s is %j', (zone, now, month) => {
  expect(lastEndedMonth(zone, new Date(now))).toEqual(month);
});

it.each([
  ['America/New_York', true],
  ['UTC', true],
  ['Etc/GMT+5', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Europe/Atlantis', false],
  ['+05:00', false],
  ['', false],
  [`America/${'x'.repeat(100)}`, false],
  ['America/New_York\n', false],
])('%j is a time zone: %s', (name, isOne) => {
  expect(isTimeZone(name)).toBe(isOne);
});
