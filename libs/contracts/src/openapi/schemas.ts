/**
 * `components.schemas` of the OpenAPI document: the zod schemas of requests and responses, each under
 * the name by which clients know it. Where one is part of another it is referred to, not repeated.
 */
import { z } from 'zod';
import { bankAccount, legalAddress } from '../fields.js';
import {
  contactCreateSchema,
  contactPatchSchema,
  originatorPatchSchema,
} from '../party-requests.js';
import { exportCreateSchema } from '../export-requests.js';
import { paymentCreateSchema, simulateSchema } from '../payment-requests.js';
import * as responses from '../responses.js';
import { webhookCreateSchema, webhookPatchSchema, webhookTestSchema } from '../webhook-requests.js';
import { webhookReplaySchema, webhookRotateSchema } from '../delivery-requests.js';
import { describedFields, describedSchemas } from './descriptions.js';

export type Json = { readonly [key: string]: unknown };

const schemas = {
  ContactCreateRequest: contactCreateSchema,
  ContactPatchRequest: contactPatchSchema,
  OriginatorPatchRequest: originatorPatchSchema,
  PaymentCreateRequest: paymentCreateSchema,
  SimulateRequest: simulateSchema,
  WebhookCreateRequest: webhookCreateSchema,
  WebhookPatchRequest: webhookPatchSchema,
  WebhookTestRequest: webhookTestSchema,
  WebhookRotateRequest: webhookRotateSchema,
  WebhookReplayRequest: webhookReplaySchema,
  ExportCreateRequest: exportCreateSchema,
  BankAccountRequest: bankAccount,
  LegalAddress: legalAddress,
  Originator: responses.originatorSchema,
  Contact: responses.contactSchema,
  OriginatorListItem: responses.originatorListItemSchema,
  ContactListItem: responses.contactListItemSchema,
  ContactCreated: responses.contactCreatedSchema,
  Payment: responses.paymentSchema,
  PaymentListItem: responses.paymentListItemSchema,
  PaymentCreated: responses.paymentCreatedSchema,
  RailEvaluation: responses.railEvaluationSchema,
  RejectedRail: responses.rejectedRailSchema,
  Party: responses.partySchema,
  PartyWithAccount: responses.partyWithAccountSchema,
  BankAccount: responses.bankAccountSchema,
  WebhookEndpoint: responses.webhookEndpointSchema,
  CreatedWebhookEndpoint: responses.createdWebhookEndpointSchema,
  RotatedWebhookEndpoint: responses.rotatedWebhookEndpointSchema,
  WebhookDelivery: responses.webhookDeliverySchema,
  WebhookDeliveryDetail: responses.webhookDeliveryDetailSchema,
  WebhookAttempt: responses.webhookAttemptSchema,
  WebhookReplay: responses.webhookReplaySchema,
  Event: responses.eventSchema,
  WebhookTestResult: responses.webhookTestResultSchema,
  Statement: responses.statementSchema,
  Export: responses.exportSchema,
  ExportCreated: responses.exportCreatedSchema,
  AuditKey: responses.auditKeySchema,
  Checkpoint: responses.checkpointSchema,
  Consistency: responses.consistencySchema,
  EventProof: responses.eventProofSchema,
  PaymentProof: responses.paymentProofSchema,
  Meta: responses.metaSchema,
  ListMeta: responses.listMetaSchema,
  PageMeta: responses.pageMetaSchema,
  Pagination: responses.paginationSchema,
  Error: responses.errorSchema,
  Problem: responses.problemSchema,
  PaymentEvent: responses.paymentEventSchema,
  PaymentEventData: responses.paymentEventDataSchema,
  StatementEvent: responses.statementEventSchema,
  StatementEventData: responses.statementEventDataSchema,
  TestEvent: responses.testEventSchema,
} as const satisfies Readonly<Record<string, z.ZodType>>;
export type SchemaName = keyof typeof schemas;

export function ref(name: SchemaName): Json {
  return { $ref: `#/components/schemas/${name}` };
}

const names = new Map<z.ZodType, SchemaName>(
  Object.entries(schemas).map(([name, schema]) => [schema, name as SchemaName]),
);

/** The name of a schema that an operation takes or answers. @throws when it has none */
export function nameOf(schema: z.ZodType): SchemaName {
  const name = names.get(schema);
  if (name === undefined) throw new Error('a schema of an operation has no name in the document');
  return name;
}

export function schemaComponents(
  isWanted: (name: string) => boolean,
): Readonly<Record<string, Json>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas))
    if (isWanted(id)) registry.add(schema, { id });
  const converted = z.toJSONSchema(registry, {
    ...conversion,
    uri: (id) => `#/components/schemas/${id}`,
  }).schemas;
  return Object.fromEntries(
    Object.entries(converted).map(([name, { $schema: _, $id: __, ...schema }]) => [
      name,
      described(name, schema),
    ]),
  );
}

/** The schema of a single value, such as a parameter. */
export function schemaOfValue(schema: z.ZodType): Json {
  const { $schema: _, ...converted } = z.toJSONSchema(schema, conversion);
  const byDefault: unknown = schema.safeParse(undefined).data;
  return byDefault === undefined ? converted : { ...converted, default: byDefault };
}

export const conversion = {
  target: 'draft-2020-12',
  // The input before defaults and transforms. An answer has none, and may gain fields at any time.
  io: 'input',
  override: ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) => {
    if (jsonSchema.format === 'uuid') delete jsonSchema.pattern;
    mergeNull(jsonSchema);
  },
} as const;

/** `anyOf` of one simple type and null, in the shorter form that people and generators read better. */
function mergeNull(schema: z.core.JSONSchema.BaseSchema): void {
  const [value, none, ...others] = schema.anyOf ?? [];
  if (value === undefined || none?.type !== 'null' || others.length > 0) return;
  if (value.$ref !== undefined || typeof value.type !== 'string' || value.type === 'object') return;
  delete schema.anyOf;
  const { enum: values, type } = value;
  Object.assign(schema, value, { type: [type, 'null'] });
  if (values !== undefined) schema.enum = [...values, null];
}

/** Adds what the fields mean: a name means the same wherever it occurs, unless the schema says more. */
function described(name: string, schema: Json): Json {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  const description = describedSchemas[name];
  return {
    ...(description === undefined ? {} : { description }),
    ...schema,
    ...(properties.length === 0
      ? {}
      : {
          properties: Object.fromEntries(
            properties.map(([field, property]) => [field, describedField(name, field, property)]),
          ),
        }),
  };
}

function describedField(name: string, field: string, property: Json): Json {
  const description = describedFields[`${name}.${field}`] ?? describedFields[field];
  const inner = property['properties'] === undefined ? property : described(field, property);
  return description === undefined ? inner : { ...inner, description };
}
