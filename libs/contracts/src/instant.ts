/** A point in time in a request, in the forms of ISO 8601 (rules list-filter-1 and list-filter-2). */
import { z } from 'zod';

const dayOnly = /^\d{4}-\d{2}-\d{2}$/;
// A plus sign that was not percent-encoded arrives as a space: no other meaning is possible there.
const dateTime =
  /^(\d{4}-\d{2}-\d{2})[Tt]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:[.,](\d{1,9}))?([Zz]|[+ -](?:[01]\d|2[0-3]):?[0-5]\d)?$/;

const forms = { anyOf: [{ format: 'date-time' }, { format: 'date' }] };

/**
 * A point in time as ISO 8601 in UTC with milliseconds. A date alone is the start or the end of that
 * UTC day; a time without an offset is UTC; finer fractions are rounded so that the bound stays
 * inclusive of whole milliseconds only.
 */
export function instant(bound: 'start' | 'end') {
  return z
    .string()
    .transform((input, context) => {
      const at = parseInstant(input, bound);
      if (at !== null) return at;
      context.addIssue({ code: 'custom', message: 'validation_datetime', input });
      return z.NEVER;
    })
    .meta(forms);
}

/** The same, not in the future. */
export const pastInstant = (bound: 'start' | 'end') =>
  instant(bound)
    .refine((at) => Date.parse(at) <= Date.now(), 'validation_date_range')
    .meta(forms);

/** The time of a read as of then, like the end of a range (rule audit-13). */
export const asOf = pastInstant('end').optional();

function parseInstant(input: string, bound: 'start' | 'end'): string | null {
  if (dayOnly.test(input)) {
    const time = bound === 'start' ? '00:00:00.000' : '23:59:59.999';
    const at = new Date(`${input}T${time}Z`);
    return isRealDay(input) && isStorable(at) ? at.toISOString() : null;
  }
  const [, day, time, fraction = '', offset = 'Z'] = dateTime.exec(input) ?? [];
  if (day === undefined || time === undefined || !isRealDay(day)) return null;
  const zone = offset.toUpperCase().replace(' ', '+');
  const seconds = time.length === 'hh:mm'.length ? `${time}:00` : time;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const finer = /[1-9]/.test(fraction.slice(3)) && bound === 'start' ? 1 : 0;
  const whole = Date.parse(`${day}T${seconds}${zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2')}`);
  const at = new Date(whole + milliseconds + finer);
  return isStorable(at) ? at.toISOString() : null;
}

/** ISO 8601 has four digits for a year, and PostgreSQL no year 0. */
function isStorable(at: Date): boolean {
  return at.getUTCFullYear() >= 1 && at.getUTCFullYear() <= 9999;
}

/** JavaScript turns February 30 into a day in March. */
function isRealDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}
