/** The HTTP wire format between us and the (simulated) bank: JSON under `/bank/`. */
import {
  achServices,
  bankAccountSubTypes,
  directions,
  entityTypes,
  failureCodes,
  maxAmountMinor,
  paymentRails,
} from '@pis/domain';
import { z } from 'zod';
import {
  type BankCorrection,
  type BankNotificationPage,
  type InquiryResult,
  type SubmissionResult,
  type RailRejection,
  type TransferInstruction,
  type VoidResult,
  bankNotificationTypes,
  notificationsMax,
} from './bank-connection.js';

export const bankPaths = {
  transfers: '/bank/transfers',
  inquiries: '/bank/inquiries',
  voids: '/bank/voids',
  notifications: '/bank/notifications',
} as const;

const nameMax = 300;
const noteMax = 1_000;
const textMax = 1_000;
const sealedMax = 5_000;
const reference = z.string().regex(/^[\x21-\x7e]{1,22}$/);

const account = z.object({
  achRoutingNumber: z.string().regex(/^\d{9}$/),
  achAccountNumber: z.string().regex(/^\d{4,17}$/),
  swiftCode: z.string().max(11).nullable(),
  subType: z.enum(bankAccountSubTypes),
});

const address = z.object({
  addressLine1: z.string().max(nameMax),
  city: z.string().max(nameMax),
  state: z.string().max(nameMax),
  postalCode: z.string().max(nameMax),
  countryCode: z.string().length(2),
});

export const transferInstructionSchema: z.ZodType<TransferInstruction> = z.object({
  reference,
  paymentId: z.uuid(),
  organizationId: z.uuid(),
  rail: z.enum(paymentRails),
  achService: z.enum(achServices).nullable(),
  direction: z.enum(directions),
  amountMinor: z.int().positive().max(maxAmountMinor),
  currencyCode: z.string().regex(/^[A-Z]{3}$/),
  isReinitiation: z.boolean().optional(),
  createdAt: z.iso.datetime({ precision: 3 }),
  note: z.string().max(noteMax).nullable(),
  originatorId: z.uuid(),
  originatorEntityType: z.enum(entityTypes),
  originatorName: z.string().max(nameMax),
  originatorAddress: address.nullable(),
  originatorAccount: account,
  contactId: z.uuid(),
  contactEntityType: z.enum(entityTypes),
  contactName: z.string().max(nameMax),
  contactAddress: address.nullable(),
  contactAccount: account,
});

/** The body of an inquiry and of a void. */
export const referenceSchema = z.object({ reference });

/** The query of the feed; numbers arrive as text. */
export const feedQuerySchema = z.object({
  after: z.string().regex(/^\d{0,18}$/),
  max: z.coerce.number().int().min(1).max(notificationsMax),
});

const railRejectionSchema: z.ZodType<RailRejection> = z.object({
  failureCode: z.enum(failureCodes),
  field: z.string().max(nameMax).nullable(),
  message: z.string().min(1).max(textMax),
  reason: z.string().min(1).max(textMax),
  railCode: z.string().max(nameMax).nullable(),
});

const bankCorrectionSchema: z.ZodType<BankCorrection> = z.object({
  changeCode: z.string().regex(/^C\d{2}$/),
  corrected: z.string().min(1).max(sealedMax),
});

export const submissionResultSchema: z.ZodType<SubmissionResult> = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('accepted') }),
  z.object({ outcome: z.literal('pending'), confirmationExpected: z.boolean() }),
  z.object({ outcome: z.literal('error'), rejection: railRejectionSchema }),
]);

export const inquiryResultSchema: z.ZodType<InquiryResult> = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('accepted'), sentAmountMinor: z.number().nullish() }),
  z.object({ outcome: z.literal('received') }),
  z.object({ outcome: z.literal('error'), rejection: railRejectionSchema }),
  z.object({ outcome: z.literal('unknown') }),
]);

export const voidResultSchema: z.ZodType<VoidResult> = z.object({
  outcome: z.enum(['voided', 'received', 'unable']),
});

/** Opaque text that can be stored and compared. It identifies the notification. */
const sequence = z.string().regex(/^[\x21-\x7e]{1,200}$/);

const notification = z.object({
  sequence,
  reference: z.string(),
  type: z.enum(bankNotificationTypes),
  returnReasonCode: z
    .string()
    .regex(/^R\d{2}$/)
    .nullable(),
  returnReference: z
    .string()
    .regex(/^[\x21-\x7e]{1,35}$/)
    .nullable()
    // It only helps to find the movement in the bank's books: the return counts without it.
    .catch(null),
  returnedAmount: z
    .object({ amountMinor: z.number(), currencyCode: z.string() })
    .nullable()
    .default(null),
  // Banks of older releases do not name it.
  sentAmountMinor: z.number().nullable().default(null),
  rejection: railRejectionSchema.nullable().default(null),
  correction: bankCorrectionSchema.nullable().default(null),
  at: z.iso.datetime({ precision: 3 }),
});

/** An unreadable notification is kept as such: it must not hold up the feed. */
const unreadableNotification = z
  .object({ sequence, reference: z.string().catch('') })
  .transform((readable) => ({
    ...readable,
    type: 'unreadable' as const,
    returnReasonCode: null,
    returnReference: null,
    returnedAmount: null,
    sentAmountMinor: null,
    rejection: null,
    correction: null,
    at: new Date().toISOString(),
  }));

export const notificationPageSchema: z.ZodType<BankNotificationPage> = z.object({
  notifications: z.array(z.union([notification, unreadableNotification])).max(notificationsMax),
  cursor: z.string().regex(/^[\x21-\x7e]{0,200}$/),
});

/** Describes errors without values, which hold account numbers. */
export function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.')}: ${issue.code}`).join('; ');
}
