/**
 * Calendar months of a time zone, as periods in UTC. The rules of daylight-saving time come from the IANA database of
 * the runtime. The machine's own time zone has no effect.
 */

/** `month` is 1 to 12. */
export interface Month {
  readonly year: number;
  readonly month: number;
}

export interface MonthPeriod {
  readonly from: Date;
  /** The beginning of the next month: exclusive. */
  readonly to: Date;
}

/** The time zone of an organization that has set none. */
export const defaultTimeZone = 'America/New_York';

const timeZoneLengthMax = 50;

/** Earlier and later years are typing errors. */
export const monthYearMin = 2000;
export const monthYearMax = 9999;

const dayMs = 86_400_000;
/** Clocks are at most 14 hours from UTC, and a change of a zone's date skips at most a day. */
const searchMs = 2 * dayMs;

/** Letters, digits, and the punctuation of IANA names: no offsets such as +05:00. */
const zoneForm = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/** Whether it is the name of a time zone in the IANA database. */
export function isTimeZone(name: string): boolean {
  if (name.length > timeZoneLengthMax || !zoneForm.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    // A RangeError is how Intl says that it does not know the name.
    return false;
  }
}

/** Whether it is a month that can have payments. */
export function isMonth({ year, month }: Month): boolean {
  const isWithin = (value: number, min: number, max: number) =>
    Number.isSafeInteger(value) && value >= min && value <= max;
  return isWithin(year, monthYearMin, monthYearMax) && isWithin(month, 1, 12);
}

/** The month on the clocks of a time zone. Consecutive months leave no gap. @throws RangeError */
export function monthOf(zone: string, year: number, month: number): MonthPeriod {
  if (!isMonth({ year, month })) throw new RangeError(`not a month: ${year}-${month}`);
  return { from: startOf(zone, { year, month }), to: startOf(zone, monthAfter({ year, month })) };
}

/** The month that an instant is in. @throws RangeError */
export function monthAt(zone: string, at: Date): Month {
  const shown = new Date(shownMs(formatOf(zone), at.getTime()));
  const month = { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1 };
  // A clock that is set back on the first of a month shows the former month again.
  const next = monthAfter(month);
  return startOf(zone, next) <= at ? next : month;
}

/** The last month that has ended by then. @throws RangeError */
export function lastEndedMonth(zone: string, now: Date): Month {
  return monthBefore(monthAt(zone, now));
}

export function monthAfter({ year, month }: Month): Month {
  return month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 };
}

export function monthBefore({ year, month }: Month): Month {
  return month === 1 ? { year: year - 1, month: 12 } : { year, month: month - 1 };
}

/** Negative when `one` is earlier, 0 when they are the same month. */
export function compareMonths(one: Month, other: Month): number {
  return one.year - other.year || one.month - other.month;
}

/** `YYYY-MM`. */
export function monthName({ year, month }: Month): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}

/** An instant at which the clocks of the zone turn to the first of the month: the midnight, or what skips it. */
function startOf(zone: string, { year, month }: Month): Date {
  const format = formatOf(zone);
  const midnightMs = Date.UTC(year, month - 1, 1);
  let [beforeMs, fromMs] = [midnightMs - searchMs, midnightMs + searchMs];
  while (fromMs - beforeMs > 1) {
    const middleMs = Math.floor((beforeMs + fromMs) / 2);
    if (shownMs(format, middleMs) >= midnightMs) fromMs = middleMs;
    else beforeMs = middleMs;
  }
  return new Date(fromMs);
}

/** What the clocks of the zone show, as if it were UTC. Milliseconds since 1970. */
function shownMs(format: Intl.DateTimeFormat, atMs: number): number {
  const parts = new Map<string, number>();
  for (const { type, value } of format.formatToParts(atMs)) parts.set(type, Number(value));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? NaN;
  return (
    Date.UTC(part('year'), part('month') - 1, part('day')) +
    ((part('hour') * 60 + part('minute')) * 60 + part('second')) * 1_000 +
    (((atMs % 1_000) + 1_000) % 1_000)
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** There are some 600 names. */
const formatsMax = 1_000;

/** @throws RangeError for a name that is no time zone */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    hourCycle: 'h23',
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  });
  if (formats.size >= formatsMax) formats.clear();
  formats.set(zone, format);
  return format;
}
