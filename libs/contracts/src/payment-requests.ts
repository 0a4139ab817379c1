/** Requests on payments (rules payment-create-1 to -6, payment-list-1 to -7, payment-decision-1 to -4). */
import { directions, maxAmountMinor, paymentRails, paymentStatuses } from '@pis/domain';
import { z } from 'zod';
import { isObject, optional, text, uuid } from './fields.js';
import { asOf, instant } from './instant.js';
import { cursor, newRecipientSchema, wholeNumber } from './party-requests.js';
import { validate } from './validation.js';

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

const savedRecipientSchema = z.object({ contactId: uuid });
export type NewRecipient = z.output<typeof newRecipientSchema>;
export type PaymentRecipient = z.output<typeof savedRecipientSchema> | NewRecipient;

/** A payment as it is requested in the dashboard: the recipient may be somebody who is no saved contact. */
const { contactId: _contactId, ...dashboardPayment } = paymentCreateSchema.shape;
export const dashboardPaymentSchema = z.object({
  ...dashboardPayment,
  recipient: z.unknown().transform((value, context): PaymentRecipient => {
    const isSaved = typeof value === 'object' && value !== null && 'contactId' in value;
    // Not z.union(): it reports no problem by its field.
    const schema = isSaved ? savedRecipientSchema : newRecipientSchema;
    const parsed = validate<PaymentRecipient>(schema, value);
    if (parsed.ok) return parsed.value;
    for (const { field, issue: message } of parsed.problems) {
      const path = field === '' ? [] : field.split('.');
      context.addIssue({ code: 'custom', path, message, input: value });
    }
    return z.NEVER;
  }),
});
export type DashboardPaymentRequest = z.output<typeof dashboardPaymentSchema>;

/** What the idempotency comparison compares; unrecognized fields take no part (rule idempotency-4). */
export const recognizedPaymentFields = Object.keys(
  paymentCreateSchema.shape,
) as readonly (keyof PaymentCreateRequest)[];

export const idempotencyKeyLengthMax = 255;

/** The query of a single read. */
export const paymentReadSchema = z.object({ asOf });
export type PaymentReadQuery = z.output<typeof paymentReadSchema>;

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
/** As the API takes it: also as of a time. */
export const paymentListReadSchema = paymentListSchema.safeExtend({ asOf });
export type PaymentListReadQuery = z.output<typeof paymentListReadSchema>;
/**
 * The filters of the list. All that are given must hold. An idempotency key is not a filter: it names one
 * payment, which is found without a list.
 */
export type PaymentFilter = Omit<PaymentListQuery, 'limit' | 'cursor' | 'idempotencyKey'>;

export const simulatedOutcomes = [
  'complete',
  'return',
  'fail',
  'time_out',
  'late_confirm',
] as const;

/** `POST /v1/sandbox/payments/:id/simulate` (rule sandbox-16). */
export const simulateSchema = z.object({
  outcome: z.enum(simulatedOutcomes),
  // R01 to R85 (Nacha Operating Rules, Appendix Four).
  returnReasonCode: optional(z.string().regex(/^R(0[1-9]|[1-7]\d|8[0-5])$/, 'validation_enum')),
});
export type SimulateRequest = z.output<typeof simulateSchema>;
