/**
 * What the API answers and what webhooks carry, as schemas: the OpenAPI document is made from them.
 * Nothing is parsed with them at run time. Each names exactly the fields of the view that it
 * describes: a field that is added to a view and not here, or the other way round, does not compile.
 */
import {
  achServices,
  bankAccountSubTypes,
  directions,
  entityTypes,
  eventTypes,
  failureCodes,
  paymentEventTypes,
  paymentRails,
  paymentStatuses,
  railRejectionCodes,
} from '@pis/domain';
import { z } from 'zod';
import type {
  AuditKeyView,
  CheckpointView,
  ConsistencyView,
  PaymentProofView,
} from './audit-requests.js';
import {
  deliveryStates,
  finishedReasons,
  replayStates,
  type RotatedWebhookEndpointView,
  type WebhookAttemptView,
  type WebhookDeliveryDetailView,
  type WebhookDeliveryView,
  type WebhookReplayView,
} from './delivery-view.js';
import {
  type ContactListItem,
  type ContactView,
  type OriginatorListItem,
  type OriginatorView,
  type WebhookEndpointView,
  webhookHealths,
} from './directory-view.js';
import { type ErrorEnvelope, errorCodes, type Problem } from './error-codes.js';
import {
  type ExportCreatedView,
  exportFormats,
  exportKinds,
  exportStatuses,
  type ExportView,
} from './export-view.js';
import { legalAddress, uuid } from './fields.js';
import type { PaymentEventData } from './integration-events.js';
import type {
  BankAccountView,
  PartyView,
  PartyWithAccountView,
  PaymentListItem,
  PaymentView,
} from './payment-view.js';
import type { RailEvaluationView, RejectedRailView } from './rail-view.js';
import { validationCodes } from './validation.js';

type ShapeOf<View> = { readonly [Field in keyof View]-?: z.ZodType<View[Field]> };

/** A schema that has the fields of a view, no other, and values that the view can have. */
function schemaOf<View>() {
  return <Shape extends ShapeOf<View>>(
    shape: Shape & { readonly [Field in Exclude<keyof Shape, keyof View>]: never },
  ) => z.object<Shape>(shape);
}

const timestamp = z.string().meta({ format: 'date-time' });
const amountMinor = z.number().meta({ type: 'integer', minimum: 0 });
const maskedDigits = z.string().meta({ pattern: '^\\*+[0-9]{2,4}$' });

export const bankAccountSchema = schemaOf<BankAccountView>()({
  bankName: z.string().nullable(),
  swiftCode: z.string().meta({ pattern: '^\\*+[A-Z0-9]{2,4}$' }).nullable(),
  subType: z.enum(bankAccountSubTypes),
  achRoutingNumber: maskedDigits,
  achAccountNumber: maskedDigits,
});

const party = {
  id: uuid,
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  companyName: z.string().nullable(),
  entityType: z.enum(entityTypes),
  erased: z.literal(true).optional(),
};
export const partySchema = schemaOf<PartyView>()(party);
export const partyWithAccountSchema = schemaOf<PartyWithAccountView>()({
  ...party,
  bankAccount: bankAccountSchema.nullable(),
});

const payment = {
  paymentId: uuid,
  status: z.enum(paymentStatuses),
  createdAt: timestamp,
  completedAt: timestamp.nullable(),
  failedAt: timestamp.nullable(),
  returnedAt: timestamp.nullable(),
  canceledAt: timestamp.nullable(),
  paymentAmount: z.number().meta({ type: 'integer', minimum: 1 }),
  discountFee: amountMinor,
  flatFee: amountMinor,
  returnFee: amountMinor,
  currencyCode: z.string().meta({ pattern: '^[A-Z]{3}$' }),
  paymentRail: z.enum(paymentRails),
  direction: z.enum(directions),
  paymentNote: z.string().nullable(),
  externalPaymentId: z.string().nullable(),
  failureCode: z.enum(failureCodes).nullable(),
  failureMessage: z.string().nullable(),
};
const singlePayment = {
  ...payment,
  failureReason: z.string().nullable(),
  returnReasonCode: z.string().meta({ pattern: '^R[0-9]{2}$' }).nullable(),
  originator: partyWithAccountSchema,
  contact: partyWithAccountSchema.nullable(),
};
export const paymentSchema = schemaOf<PaymentView>()(singlePayment);
export const paymentListItemSchema = schemaOf<PaymentListItem>()({
  ...payment,
  originator: partySchema,
  contact: partySchema.nullable(),
});
export const paymentCreatedSchema = schemaOf<Pick<PaymentView, 'paymentId'>>()({
  paymentId: uuid,
});

export const rejectedRailSchema = schemaOf<RejectedRailView>()({
  paymentRail: z.enum(paymentRails),
  achService: z.enum(achServices).nullable(),
  code: z.enum(railRejectionCodes),
  reason: z.string(),
});
export const railEvaluationSchema = schemaOf<RailEvaluationView>()({
  paymentRail: z.enum(paymentRails).nullable(),
  achService: z.enum(achServices).nullable(),
  expectedSettlementAt: timestamp.nullable(),
  nextCutoffAt: timestamp.nullable(),
  rejectedRails: z.array(rejectedRailSchema),
});

const profile = {
  entityType: z.enum(entityTypes),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  companyName: z.string().nullable(),
  email: z.string(),
  phoneNumber: z.string().nullable(),
  legalAddress: legalAddress.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const originatorSchema = schemaOf<OriginatorView>()({
  originatorId: uuid,
  ...profile,
  bankAccount: bankAccountSchema,
});
export const contactSchema = schemaOf<ContactView>()({
  contactId: uuid,
  originatorId: uuid,
  ...profile,
  bankAccount: bankAccountSchema.nullable(),
});
const maybeErased = { email: z.string().nullable(), erased: z.literal(true).optional() };
export const originatorListItemSchema = schemaOf<OriginatorListItem>()({
  originatorId: uuid,
  ...profile,
  bankAccount: bankAccountSchema.nullable(),
  ...maybeErased,
});
export const contactListItemSchema = schemaOf<ContactListItem>()({
  contactId: uuid,
  originatorId: uuid,
  ...profile,
  bankAccount: bankAccountSchema.nullable(),
  ...maybeErased,
});
export const contactCreatedSchema = schemaOf<Pick<ContactView, 'contactId' | 'createdAt'>>()({
  contactId: uuid,
  createdAt: timestamp,
});

const webhookEndpoint = {
  id: uuid,
  url: z.string().meta({ format: 'uri' }),
  subscribedEvents: z.array(z.enum([...eventTypes, 'payment.*'])),
  label: z.string().nullable(),
  enabled: z.boolean(),
  health: z.enum(webhookHealths).nullable(),
  failingSince: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const webhookEndpointSchema = schemaOf<WebhookEndpointView>()(webhookEndpoint);
export const createdWebhookEndpointSchema = schemaOf<
  WebhookEndpointView & { readonly secret: string }
>()({
  ...webhookEndpoint,
  secret: z.string().meta({ pattern: '^[0-9a-f]{64}$' }),
});

export const rotatedWebhookEndpointSchema = schemaOf<RotatedWebhookEndpointView>()({
  ...webhookEndpoint,
  secret: z.string().meta({ pattern: '^[0-9a-f]{64}$' }),
  previousSecretEndsAt: timestamp.nullable(),
});

/** What `POST /v1/webhooks/:id/test` found out. */
export const webhookTestResultSchema = z.object({
  success: z.boolean(),
  statusCode: z.number().meta({ type: 'integer' }).nullable(),
  error: z.string().nullable(),
  durationMs: z.number().meta({ type: 'integer', minimum: 0 }),
});

/** A monthly statement of an originator (rule statement-read-2). */
export const statementSchema = z.object({
  statementId: uuid,
  originatorId: uuid,
  periodYear: z.number().meta({ type: 'integer' }),
  periodMonth: z.number().meta({ type: 'integer', minimum: 1, maximum: 12 }),
  generatedAt: timestamp,
  sizeBytes: z.number().meta({ type: 'integer', minimum: 0 }),
  sha256: z.string().meta({ pattern: '^[0-9a-f]{64}$' }),
});

/** What `POST /v1/exports` answers (rule export-1), and the export itself (rule export-2). */
const createdExport = { exportId: uuid, status: z.enum(exportStatuses) } as const;
export const exportCreatedSchema = schemaOf<ExportCreatedView>()(createdExport);
export const exportSchema = schemaOf<ExportView>()({
  ...createdExport,
  kind: z.enum(exportKinds),
  format: z.enum(exportFormats),
  from: timestamp.nullable(),
  to: timestamp.nullable(),
  originatorId: uuid.nullable(),
  rows: z.number().meta({ type: 'integer', minimum: 0 }),
  sizeBytes: z.number().meta({ type: 'integer', minimum: 0 }),
  sha256: z.string().meta({ pattern: '^[0-9a-f]{64}$' }).nullable(),
  progress: z.number().meta({ minimum: 0, maximum: 1 }),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  finishedAt: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  reason: z.string().nullable(),
});

const base64 = z.string().meta({ pattern: '^[A-Za-z0-9+/]+={0,2}$' });
const leaves = z.number().meta({ type: 'integer', minimum: 1 });
export const auditKeySchema = schemaOf<AuditKeyView>()({ verifierKey: z.string() });
export const checkpointSchema = schemaOf<CheckpointView>()({
  treeSize: leaves,
  rootHash: base64,
  createdAt: timestamp,
  note: z.string(),
});
export const consistencySchema = schemaOf<ConsistencyView>()({ proof: z.array(base64) });
export const eventProofSchema = z.object({
  index: z.number().meta({ type: 'integer', minimum: 0 }),
  leaf: base64,
  proof: z.array(base64),
});
export const paymentProofSchema = schemaOf<PaymentProofView>()({
  checkpoint: z.string(),
  treeSize: leaves,
  events: z.array(eventProofSchema),
});

/** `meta` of an answer that is not a list, of a list that pages on request, and of one that always pages. */
export const metaSchema = z.object({ timestamp });
export const paginationSchema = z.object({
  limit: z.number().meta({ type: 'integer', minimum: 1, maximum: 100 }),
  nextCursor: z.string().nullable(),
});
export const pageMetaSchema = z.object({ timestamp, pagination: paginationSchema });
export const listMetaSchema = z.object({ timestamp, pagination: paginationSchema.optional() });

export const problemSchema = schemaOf<Problem>()({
  field: z.string(),
  issue: z.union([z.enum(validationCodes), z.string()]),
  message: z.string(),
});
export const errorSchema = schemaOf<ErrorEnvelope>()({
  error: z.object({
    code: z.enum(errorCodes),
    message: z.string(),
    details: z.array(problemSchema).exactOptional(),
  }),
});

export const paymentEventDataSchema = schemaOf<PaymentEventData>()({
  ...singlePayment,
  previousStatus: z.enum(paymentStatuses).nullable(),
});
export const statementEventDataSchema = statementSchema.pick({
  statementId: true,
  originatorId: true,
  periodYear: true,
  periodMonth: true,
});
const envelope = {
  id: uuid,
  version: z.string(),
  createdAt: timestamp,
  synthetic: z.boolean(),
};
export const paymentEventSchema = z.object({
  ...envelope,
  eventType: z.enum(paymentEventTypes),
  data: paymentEventDataSchema,
});
export const statementEventSchema = z.object({
  ...envelope,
  eventType: z.literal('statement.generated'),
  data: statementEventDataSchema,
});
/** What the test operation delivers when no event type is asked for. */
export const testEventSchema = z.object({
  ...envelope,
  eventType: z.literal('TEST'),
  data: z.looseObject({}),
});
/** An event as the feed gives it: the envelope that endpoints are sent. */
export const eventSchema = z.union([paymentEventSchema, statementEventSchema]);

const delivery = {
  deliveryId: uuid,
  webhookId: uuid,
  eventId: uuid,
  eventType: z.enum(eventTypes),
  paymentId: uuid.nullable(),
  occurredAt: timestamp,
  state: z.enum(deliveryStates),
  replayed: z.boolean(),
  attemptCount: z.number().meta({ type: 'integer', minimum: 0 }),
  createdAt: timestamp,
  nextAttemptAt: timestamp.nullable(),
  finishedAt: timestamp.nullable(),
  finishedReason: z.enum(finishedReasons).nullable(),
  lastStatusCode: z.number().meta({ type: 'integer' }).nullable(),
  lastError: z.string().nullable(),
};
export const webhookDeliverySchema = schemaOf<WebhookDeliveryView>()(delivery);
export const webhookAttemptSchema = schemaOf<WebhookAttemptView>()({
  attempt: z.number().meta({ type: 'integer', minimum: 1 }),
  at: timestamp,
  statusCode: z.number().meta({ type: 'integer' }).nullable(),
  durationMs: z.number().meta({ type: 'integer', minimum: 0 }),
  error: z.string().nullable(),
  responseExcerpt: z.string().nullable(),
});
export const webhookDeliveryDetailSchema = schemaOf<WebhookDeliveryDetailView>()({
  ...delivery,
  attempts: z.array(webhookAttemptSchema),
  payload: eventSchema,
});
export const webhookReplaySchema = schemaOf<WebhookReplayView>()({
  replayId: uuid,
  webhookId: uuid,
  from: timestamp,
  to: timestamp,
  eventTypes: z.array(z.enum(eventTypes)),
  state: z.enum(replayStates),
  eventsSent: z.number().meta({ type: 'integer', minimum: 0 }),
  reachedAt: timestamp.nullable(),
  requestedAt: timestamp,
  finishedAt: timestamp.nullable(),
});
