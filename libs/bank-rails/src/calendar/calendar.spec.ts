import { bankingDayAfter, holidayOf, isBankingDay } from './banking-days.js';
import { daysAfter, easternTime, instantOf } from './eastern-time.js';
import {
  achWindow,
  alwaysOpen,
  checkCutoffs,
  defaultCutoffs,
  fedwireHours,
  isSameDayOpen,
  railOpensAt,
  swiftWindow,
} from './rail-hours.js';

/** Copied by hand from the holiday schedules of the Federal Reserve Banks, and checked against a calendar. */
const holidaysObserved: Readonly<Record<string, string>> = {
  2022: '01-17 02-21 05-30 06-20 07-04 09-05 10-10 11-11 11-24 12-26',
  2023: '01-02 01-16 02-20 05-29 06-19 07-04 09-04 10-09 11-23 12-25',
  2024: '01-01 01-15 02-19 05-27 06-19 07-04 09-02 10-14 11-11 11-28 12-25',
  2025: '01-01 01-20 02-17 05-26 06-19 07-04 09-01 10-13 11-11 11-27 12-25',
  2026: '01-01 01-19 02-16 05-25 06-19 09-07 10-12 11-11 11-26 12-25',
  2027: '01-01 01-18 02-15 05-31 07-05 09-06 10-11 11-11 11-25',
  2028: '01-17 02-21 05-29 06-19 07-04 09-04 10-09 11-23 12-25',
  2029: '01-01 01-15 02-19 05-28 06-19 07-04 09-03 10-08 11-12 11-22 12-25',
  2030: '01-01 01-21 02-18 05-27 06-19 07-04 09-02 10-14 11-11 11-28 12-25',
  2031: '01-01 01-20 02-17 05-26 06-19 07-04 09-01 10-13 11-11 11-27 12-25',
};

/** The nights in which clocks change, at 02:00: second Sunday of March, first Sunday of November. */
const clockChanges: readonly (readonly [spring: string, autumn: string])[] = [
  ['2022-03-13', '2022-11-06'],
  ['2023-03-12', '2023-11-05'],
  ['2024-03-10', '2024-11-03'],
  ['2025-03-09', '2025-11-02'],
  ['2026-03-08', '2026-11-01'],
  ['2027-03-14', '2027-11-07'],
  ['2028-03-12', '2028-11-05'],
  ['2029-03-11', '2029-11-04'],
  ['2030-03-10', '2030-11-03'],
  ['2031-03-09', '2031-11-02'],
];

const utc = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();

describe('banking days', () => {
  it.each(Object.entries(holidaysObserved))('has the holidays of %s', (year, days) => {
    const found: string[] = [];
    for (let date = `${year}-01-01`; date.startsWith(year); date = daysAfter(date, 1))
      if (holidayOf(date) !== null) found.push(date.slice(5));
    expect(found.join(' ')).toBe(days);
  });

  it('names what is observed', () => {
    expect(holidayOf('2027-07-05')).toBe('Independence Day');
    expect(holidayOf('2023-01-02')).toBe("New Year's Day");
    expect(holidayOf('2026-11-22')).toBeNull();
  });

  it('has no Juneteenth before 2022', () => {
    expect(holidayOf('2020-06-19')).toBeNull();
  });

  it('keeps the Friday before a holiday on a Saturday', () => {
    expect(isBankingDay('2026-07-03')).toBe(true);
    expect(isBankingDay('2026-07-04')).toBe(false);
    expect(isBankingDay('2021-12-31')).toBe(true);
  });

  it.each([
    ['2026-11-20', 1, '2026-11-23'],
    ['2026-11-21', 1, '2026-11-23'],
    ['2026-11-25', 1, '2026-11-27'],
    ['2026-11-25', 2, '2026-11-30'],
    ['2026-12-24', 1, '2026-12-28'],
    ['2027-12-31', 1, '2028-01-03'],
  ])('after %s, number %i is %s', (date, count, expected) => {
    expect(bankingDayAfter(date, count)).toBe(expected);
  });

  it.each(['2026-02-29', '2026-2-1', '2026-13-01', '', '2026-01-01T00:00'])(
    'refuses %j as a date',
    (date) => {
      expect(() => isBankingDay(date)).toThrow(RangeError);
    },
  );
});

describe('Eastern Time', () => {
  it.each(clockChanges)('loses an hour on %s and gains one on %s', (spring, autumn) => {
    const before = utc(`${spring}T06:59:59.000Z`);
    expect(easternTime(before)).toEqual({ date: spring, time: '01:59:59' });
    expect(easternTime(before + 1_000)).toEqual({ date: spring, time: '03:00:00' });
    const first = utc(`${autumn}T05:59:59.000Z`);
    expect(easternTime(first)).toEqual({ date: autumn, time: '01:59:59' });
    expect(easternTime(first + 1_000)).toEqual({ date: autumn, time: '01:00:00' });
  });

  it.each(clockChanges)('finds the instant around %s and %s', (spring, autumn) => {
    expect(iso(instantOf(spring, '01:59'))).toBe(`${spring}T06:59:00.000Z`);
    expect(iso(instantOf(spring, '02:30'))).toBe(`${spring}T07:30:00.000Z`);
    expect(iso(instantOf(spring, '03:00'))).toBe(`${spring}T07:00:00.000Z`);
    expect(iso(instantOf(autumn, '00:59'))).toBe(`${autumn}T04:59:00.000Z`);
    expect(iso(instantOf(autumn, '01:30'))).toBe(`${autumn}T05:30:00.000Z`);
    expect(iso(instantOf(autumn, '02:00'))).toBe(`${autumn}T07:00:00.000Z`);
  });

  it('reads back every hour of ten years that is not skipped or doubled', () => {
    const changes = new Set(clockChanges.flat());
    const misread: number[] = [];
    for (let ms = utc('2022-01-01T12:00:00Z'); ms < utc('2032-01-01T00:00:00Z'); ms += 3_600_000) {
      const { date, time } = easternTime(ms);
      if (!changes.has(date) && instantOf(date, time.slice(0, 5)) !== ms) misread.push(ms);
    }
    expect(misread).toEqual([]);
  });

  it('does not depend on the order of questions', () => {
    const summer = utc('2026-07-01T12:00:00Z');
    const winter = utc('2026-12-01T12:00:00Z');
    expect([summer, winter, summer].map((ms) => easternTime(ms).time)).toEqual([
      '08:00:00',
      '07:00:00',
      '08:00:00',
    ]);
  });

  it.each(['24:00', '9:30', '10:60', '', '10:30:00'])('refuses %j as a time', (time) => {
    expect(() => instantOf('2026-11-23', time)).toThrow(RangeError);
  });
});

/** Eastern Time, `YYYY-MM-DD HH:MM`. */
const at = (text: string) => instantOf(text.slice(0, 10), text.slice(11));
const shown = (ms: number) => `${easternTime(ms).date} ${easternTime(ms).time.slice(0, 5)}`;

describe('ACH windows', () => {
  // Created, cutoff, settlement. 2026-11-23 is a Monday; Thanksgiving is on the 26th.
  it.each([
    ['2026-11-23 00:00', '2026-11-23 10:30', '2026-11-23 13:00'],
    ['2026-11-23 10:29', '2026-11-23 10:30', '2026-11-23 13:00'],
    ['2026-11-23 10:30', '2026-11-23 14:45', '2026-11-23 17:00'],
    ['2026-11-23 14:45', '2026-11-23 16:45', '2026-11-23 18:00'],
    ['2026-11-23 16:45', '2026-11-24 10:30', '2026-11-24 13:00'],
    ['2026-11-25 18:00', '2026-11-27 10:30', '2026-11-27 13:00'],
    ['2026-11-28 12:00', '2026-11-30 10:30', '2026-11-30 13:00'],
    // Clocks change on Sunday.
    ['2026-03-06 17:00', '2026-03-09 10:30', '2026-03-09 13:00'],
  ])('on the same day: at %s the cutoff is %s', (created, cutoff, settlement) => {
    const { cutoffAt, settlementAt } = achWindow(at(created), 'same_day', defaultCutoffs);
    expect([shown(cutoffAt), shown(settlementAt)]).toEqual([cutoff, settlement]);
  });

  it.each([
    ['2026-11-23 19:59', '2026-11-23 20:00', '2026-11-24 08:30'],
    ['2026-11-23 20:00', '2026-11-24 20:00', '2026-11-25 08:30'],
    ['2026-11-25 12:00', '2026-11-25 20:00', '2026-11-27 08:30'],
    ['2026-11-26 12:00', '2026-11-27 20:00', '2026-11-30 08:30'],
    ['2026-12-24 21:00', '2026-12-28 20:00', '2026-12-29 08:30'],
  ])('standard: at %s the cutoff is %s', (created, cutoff, settlement) => {
    const { cutoffAt, settlementAt } = achWindow(at(created), 'standard', defaultCutoffs);
    expect([shown(cutoffAt), shown(settlementAt)]).toEqual([cutoff, settlement]);
  });

  it('follows the cutoffs of the bank', () => {
    const cutoffs = { ...defaultCutoffs, sameDay: ['09:00', '12:00'], standard: '17:00' };
    const morning = at('2026-11-23 09:00');
    expect(shown(achWindow(morning, 'same_day', cutoffs).cutoffAt)).toBe('2026-11-23 12:00');
    expect(shown(achWindow(morning, 'same_day', cutoffs).settlementAt)).toBe('2026-11-23 17:00');
    expect(shown(achWindow(morning, 'standard', cutoffs).cutoffAt)).toBe('2026-11-23 17:00');
  });
});

describe('Fedwire', () => {
  it.each([
    // Sunday evening opens Monday.
    ['2026-11-22 20:59', false, '2026-11-22 21:00', '2026-11-23 18:45'],
    ['2026-11-22 21:00', true, '2026-11-22 21:00', '2026-11-23 18:45'],
    ['2026-11-23 12:00', true, '2026-11-22 21:00', '2026-11-23 18:45'],
    ['2026-11-23 18:44', true, '2026-11-22 21:00', '2026-11-23 18:45'],
    ['2026-11-23 18:45', false, '2026-11-23 21:00', '2026-11-24 18:45'],
    // Closed on Thanksgiving, and open for Friday on its evening.
    ['2026-11-25 19:00', false, '2026-11-26 21:00', '2026-11-27 18:45'],
    ['2026-11-26 22:00', true, '2026-11-26 21:00', '2026-11-27 18:45'],
    ['2026-11-28 12:00', false, '2026-11-29 21:00', '2026-11-30 18:45'],
  ])('at %s is open: %s', (time, isOpen, opens, cutoff) => {
    const hours = fedwireHours(at(time), defaultCutoffs);
    expect([hours.isOpen, shown(hours.opensAt), shown(hours.cutoffAt)]).toEqual([
      isOpen,
      opens,
      cutoff,
    ]);
    expect(hours.settlementAt).toBe(isOpen ? at(time) : hours.opensAt);
  });
});

describe('SWIFT', () => {
  it('settles two banking days after its cutoff', () => {
    const { cutoffAt, settlementAt } = swiftWindow(at('2026-11-25 17:00'), defaultCutoffs);
    expect([shown(cutoffAt), shown(settlementAt)]).toEqual([
      '2026-11-27 17:00',
      '2026-12-01 17:00',
    ]);
  });
});

describe('a bank that is always open', () => {
  const cutoffs = {
    ...{ sameDay: [alwaysOpen], standard: alwaysOpen },
    ...{ fedwire: alwaysOpen, swift: alwaysOpen },
  };
  // Thanksgiving, and the Saturday at which Fedwire is closed.
  it.each([
    ['2026-11-26 23:59', '2026-11-27', '2026-11-28'],
    ['2026-11-28 00:00', '2026-11-29', '2026-11-30'],
  ])('takes payments at %s until the end of the day', (time, tomorrow, dayAfter) => {
    expect(isSameDayOpen(at(time), cutoffs)).toBe(true);
    const today = time.slice(0, 10);
    expect(achWindow(at(time), 'same_day', cutoffs)).toMatchObject({
      ...{ settlementDate: today, cutoffAt: at(`${tomorrow} 00:00`) },
      settlementAt: at(`${tomorrow} 00:00`),
    });
    expect(achWindow(at(time), 'standard', cutoffs)).toMatchObject({
      ...{ settlementDate: tomorrow, cutoffAt: at(`${tomorrow} 00:00`) },
      settlementAt: at(`${dayAfter} 00:00`),
    });
    expect(fedwireHours(at(time), cutoffs)).toMatchObject({
      ...{ isOpen: true, settlementDate: today, settlementAt: at(time) },
    });
    expect(swiftWindow(at(time), cutoffs).settlementDate).toBe(dayAfter);
  });

  it('has no other same-day time beside', () => {
    expect(() => checkCutoffs(cutoffs)).not.toThrow();
    const both = { ...cutoffs, sameDay: [alwaysOpen, '10:30'] };
    expect(() => checkCutoffs(both)).toThrow(/^sameDay: always stands alone/);
  });
});

describe('a payment that is ready', () => {
  it.each([
    ['FEDWIRE', '2026-11-23 12:00', '2026-11-23 12:00'],
    ['FEDWIRE', '2026-11-23 18:45', '2026-11-23 21:00'],
    ['FEDWIRE', '2026-11-25 19:00', '2026-11-26 21:00'],
    ['FEDWIRE', '2026-11-28 12:00', '2026-11-29 21:00'],
    // Across the ends of daylight-saving time.
    ['FEDWIRE', '2026-10-31 12:00', '2026-11-01 21:00'],
    ['FEDWIRE', '2027-03-13 12:00', '2027-03-14 21:00'],
    ['SWIFT', '2026-11-23 12:00', '2026-11-23 12:00'],
    ['SWIFT', '2026-11-23 17:00', '2026-11-24 00:00'],
    ['SWIFT', '2026-11-27 17:00', '2026-11-30 00:00'],
    ['RTP', '2026-11-28 03:00', '2026-11-28 03:00'],
    ['FEDNOW', '2026-12-25 03:00', '2026-12-25 03:00'],
    ['ACH', '2026-11-28 12:00', '2026-11-28 12:00'],
  ] as const)('for %s at %s goes to the bank at %s', (rail, ready, opens) => {
    expect(shown(railOpensAt(rail, at(ready), defaultCutoffs))).toBe(opens);
  });
});

describe('the cutoffs of a bank', () => {
  it('are valid by default, and without same-day ACH', () => {
    expect(() => checkCutoffs(defaultCutoffs)).not.toThrow();
    expect(() => checkCutoffs({ ...defaultCutoffs, sameDay: [] })).not.toThrow();
  });

  it.each([
    [{ sameDay: ['10:30', '25:00'] }, /^sameDay\.1: /],
    [{ sameDay: ['14:00', '10:00'] }, /^sameDay: not in ascending order/],
    [{ sameDay: ['16:46'] }, /^sameDay: later than 16:45/],
    [{ standard: 'noon' }, /^standard: /],
    [{ fedwire: '19:00' }, /^fedwire: later than 18:45/],
    [{ swift: '' }, /^swift: /],
  ])('%j is refused', (changes, message) => {
    expect(() => checkCutoffs({ ...defaultCutoffs, ...changes })).toThrow(message);
  });
});
