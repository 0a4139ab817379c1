/**
 * Banking days: Monday to Friday without the holidays of the Federal Reserve Banks. A holiday on a Sunday is
 * observed on Monday. A holiday on a Saturday is not observed: the Reserve Banks are open on Friday
 * (Federal Reserve Financial Services, "Holiday Schedules").
 */
import { type CalendarDate, daysAfter, weekdayOf } from './eastern-time.js';

const sunday = 0;
const monday = 1;
const thursday = 4;
const saturday = 6;

/** Juneteenth became a holiday of the Reserve Banks in 2022. */
const juneteenthSince = 2022;

/** The same day of every year. */
const fixedHolidays = [
  { name: "New Year's Day", day: '01-01' },
  { name: 'Juneteenth National Independence Day', day: '06-19', since: juneteenthSince },
  { name: 'Independence Day', day: '07-04' },
  { name: 'Veterans Day', day: '11-11' },
  { name: 'Christmas Day', day: '12-25' },
] as const;

/** The nth such weekday of a month. */
const movableHolidays = [
  { name: 'Birthday of Martin Luther King, Jr.', month: '01', weekday: monday, nth: 3 },
  { name: "Washington's Birthday", month: '02', weekday: monday, nth: 3 },
  { name: 'Memorial Day', month: '05', weekday: monday, nth: 'last' },
  { name: 'Labor Day', month: '09', weekday: monday, nth: 1 },
  { name: 'Columbus Day', month: '10', weekday: monday, nth: 2 },
  { name: 'Thanksgiving Day', month: '11', weekday: thursday, nth: 4 },
] as const;

const yearsKeptMax = 50;
const holidaysOfYears = new Map<number, ReadonlyMap<CalendarDate, string>>();

/** The holiday that is observed on this date, or null. @throws RangeError */
export function holidayOf(date: CalendarDate): string | null {
  const year = Number(date.slice(0, 4));
  let holidays = holidaysOfYears.get(year);
  if (holidays === undefined) {
    holidays = new Map([...fixedIn(year), ...movableIn(year)]);
    if (holidaysOfYears.size >= yearsKeptMax) holidaysOfYears.clear();
    holidaysOfYears.set(year, holidays);
  }
  return holidays.get(date) ?? null;
}

/** @throws RangeError */
export function isBankingDay(date: CalendarDate): boolean {
  const weekday = weekdayOf(date);
  return weekday !== saturday && weekday !== sunday && holidayOf(date) === null;
}

/** The nth banking day after a date. @param count 1 or more @throws RangeError */
export function bankingDayAfter(date: CalendarDate, count = 1): CalendarDate {
  if (!Number.isInteger(count) || count < 1) throw new RangeError('count banking days from 1');
  let day = date;
  for (let left = count; left > 0; ) {
    day = daysAfter(day, 1);
    if (isBankingDay(day)) left -= 1;
  }
  return day;
}

function fixedIn(year: number): [CalendarDate, string][] {
  return fixedHolidays.flatMap((holiday) => {
    if ('since' in holiday && year < holiday.since) return [];
    const date = `${yearText(year)}-${holiday.day}`;
    const weekday = weekdayOf(date);
    if (weekday === saturday) return [];
    return [[weekday === sunday ? daysAfter(date, 1) : date, holiday.name]];
  });
}

function movableIn(year: number): [CalendarDate, string][] {
  return movableHolidays.map(({ name, month, weekday, nth }) => {
    const first = `${yearText(year)}-${month}-01`;
    const firstSuch = daysAfter(first, (weekday - weekdayOf(first) + 7) % 7);
    if (nth !== 'last') return [daysAfter(firstSuch, 7 * (nth - 1)), name];
    const fifth = daysAfter(firstSuch, 28);
    return [fifth.slice(5, 7) === month ? fifth : daysAfter(firstSuch, 21), name];
  });
}

function yearText(year: number): string {
  return String(year).padStart(4, '0');
}
