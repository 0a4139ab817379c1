/** Requests on payments (spec, "Payment create request", "GET /v1/payments/"; interface.md, "Payment"). */
import { directions, maxAmountMinor, paymentRails, paymentStatuses } from '@pis/domain';
import { z } from 'zod';
import { isObject, optional, text, uuid } from './fields.js';
import { cursor, wholeNumber } from './party-requests.js';

const paymentNoteMax = 500;
const externalPaymentIdMax = 255;

export const paymentCreateSchema = z.object({
  originatorId: uuid,
  contactId: uuid,
  // Not z.int(): that reports an amount beyond 2^53 a second time.
  paymentAmount: z
    .number()
    .refine(Number.isInteger, 'validation_integer')
    .min(1)
    .max(maxAmountMinor)
    .meta({ type: 'integer' }),
  direction: z.enum(directions),
  paymentNote: optional(text(0, paymentNoteMax)),
  externalPaymentId: optional(text(1, externalPaymentIdMax)),
});
export type PaymentCreateRequest = z.output<typeof paymentCreateSchema>;

/** What the idempotency comparison compares; unrecognized fields take no part (spec). */
export const recognizedPaymentFields = Object.keys(
  paymentCreateSchema.shape,
) as readonly (keyof PaymentCreateRequest)[];

export const idempotencyKeyLengthMax = 255;

const limitDefault = 20;
const limitMax = 100;

export const paymentListSchema = z
  .object({
    cursor,
    limit: wholeNumber(1, limitMax).default(limitDefault),
    status: z.enum(paymentStatuses).optional(),
    originatorId: uuid.optional(),
    contactId: uuid.optional(),
    direction: z.enum(directions).optional(),
    paymentRail: z.enum(paymentRails).optional(),
    externalPaymentId: text(1, externalPaymentIdMax).optional(),
    idempotencyKey: text(1, idempotencyKeyLengthMax).optional(),
    createdFrom: instant('start').optional(),
    createdTo: instant('end').optional(),
  })
  .superRefine(
    ({ createdFrom, createdTo }, context) => {
      if (createdFrom && createdTo && createdFrom > createdTo)
        context.addIssue({
          code: 'custom',
          path: ['createdTo'],
          message: 'validation_date_range',
          input: createdTo,
        });
    },
    { when: isObject },
  );
export type PaymentListQuery = z.output<typeof paymentListSchema>;

const dayOnly = /^\d{4}-\d{2}-\d{2}$/;
// A plus sign that was not percent-encoded arrives as a space: no other meaning is possible there.
const dateTime =
  /^(\d{4}-\d{2}-\d{2})[Tt]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?:[.,](\d{1,9}))?([Zz]|[+ -](?:[01]\d|2[0-3]):?[0-5]\d)?$/;

/**
 * A point in time as ISO 8601 in UTC with milliseconds. A date alone is the start or the end of that
 * UTC day; a time without an offset is UTC; finer fractions are rounded so that the bound stays
 * inclusive of whole milliseconds only.
 */
function instant(bound: 'start' | 'end') {
  return z
    .string()
    .transform((input, context) => {
      const at = parseInstant(input, bound);
      if (at !== null) return at;
      context.addIssue({ code: 'custom', message: 'validation_datetime', input });
      return z.NEVER;
    })
    .meta({ anyOf: [{ format: 'date-time' }, { format: 'date' }] });
}

function parseInstant(input: string, bound: 'start' | 'end'): string | null {
  if (dayOnly.test(input)) {
    const time = bound === 'start' ? '00:00:00.000' : '23:59:59.999';
    return isRealDay(input) ? `${input}T${time}Z` : null;
  }
  const [, day, time, fraction = '', offset = 'Z'] = dateTime.exec(input) ?? [];
  if (day === undefined || time === undefined || !isRealDay(day)) return null;
  const zone = offset.toUpperCase().replace(' ', '+');
  const seconds = time.length === 'hh:mm'.length ? `${time}:00` : time;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const finer = /[1-9]/.test(fraction.slice(3)) && bound === 'start' ? 1 : 0;
  const whole = Date.parse(`${day}T${seconds}${zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2')}`);
  const at = new Date(whole + milliseconds + finer);
  return at.getUTCFullYear() >= 0 && at.getUTCFullYear() <= 9999 ? at.toISOString() : null;
}

/** JavaScript takes 30 February for a day in March. */
function isRealDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

export const simulatedOutcomes = [
  'complete',
  'return',
  'fail',
  'time_out',
  'late_confirm',
] as const;

/** `POST /v1/sandbox/payments/:id/simulate` (interface.md, "Sandbox outcomes"). */
export const simulateSchema = z.object({
  outcome: z.enum(simulatedOutcomes),
  // R01 to R85 (Nacha Operating Rules, Appendix Four).
  returnReasonCode: optional(z.string().regex(/^R(0[1-9]|[1-7]\d|8[0-5])$/, 'validation_enum')),
});
export type SimulateRequest = z.output<typeof simulateSchema>;
