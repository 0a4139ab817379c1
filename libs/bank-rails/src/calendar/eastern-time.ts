/**
 * Eastern Time, in which the Federal Reserve states its hours. The rules of daylight-saving time come from
 * the IANA database in Node.js. The machine's own time zone has no effect.
 */

/** `YYYY-MM-DD`. */
export type CalendarDate = string;
/** `HH:MM`, from 00:00 to 23:59. */
export type TimeOfDay = string;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Eastern Standard Time and Eastern Daylight Time, behind UTC. */
const standardBehindMs = 5 * hourMs;
const daylightBehindMs = 4 * hourMs;

const hourInNewYork = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  hour: 'numeric',
});

/** By hour since 1970. The same few hours are asked for again and again: now, and the next cutoffs. */
const hoursBehind = new Map<number, number>();
const hoursKeptMax = 1_000;

/** How far Eastern Time is behind UTC. It changes at full hours of UTC. */
function behindUtcMs(atMs: number): number {
  const hour = Math.floor(atMs / hourMs);
  const known = hoursBehind.get(hour);
  if (known !== undefined) return known;
  const local = Number(hourInNewYork.format(hour * hourMs));
  const behindMs = ((((hour - local) % 24) + 24) % 24) * hourMs;
  if (hoursBehind.size >= hoursKeptMax) hoursBehind.clear();
  hoursBehind.set(hour, behindMs);
  return behindMs;
}

/** What a clock in New York shows. @param atMs milliseconds since 1970 @throws RangeError */
export function easternTime(atMs: number): { readonly date: CalendarDate; readonly time: string } {
  if (!Number.isFinite(atMs)) throw new RangeError('not an instant');
  const [date = '', time = ''] = new Date(atMs - behindUtcMs(atMs)).toISOString().split('T');
  return { date, time: time.slice(0, 8) };
}

/**
 * The instant at which a clock in New York shows this, in milliseconds since 1970. A time that occurs twice
 * means the first one. A time that is skipped in spring means one hour later.
 * @throws RangeError
 */
export function instantOf(date: CalendarDate, time: TimeOfDay): number {
  const shownMs = dateMs(date) + minutesOf(time) * 60_000;
  const daylightMs = shownMs + daylightBehindMs;
  return behindUtcMs(daylightMs) === daylightBehindMs ? daylightMs : shownMs + standardBehindMs;
}

/** Minutes since midnight. @throws RangeError */
export function minutesOf(time: TimeOfDay): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  if (hours === undefined || minutes === undefined)
    throw new RangeError(`not a time from 00:00 to 23:59: ${JSON.stringify(time)}`);
  return Number(hours) * 60 + Number(minutes);
}

/** @throws RangeError */
export function daysAfter(date: CalendarDate, days: number): CalendarDate {
  return new Date(dateMs(date) + days * dayMs).toISOString().slice(0, 10);
}

/** 0 is Sunday. @throws RangeError */
export function weekdayOf(date: CalendarDate): number {
  return new Date(dateMs(date)).getUTCDay();
}

/** The beginning of the date in UTC. @throws RangeError */
function dateMs(date: CalendarDate): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00.000Z`) : NaN;
  // Date.parse refuses some days that do not exist, and takes others for days of the next month.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date)
    throw new RangeError(`not a date: ${JSON.stringify(date)}`);
  return ms;
}
