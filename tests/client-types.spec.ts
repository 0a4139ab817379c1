/**
 * The client has its own types, so that it needs no internal package. This spec compares them with those of
 * the service: a difference does not compile, and a field that the service would drop fails.
 */
import type * as client from '@pis/client';
import * as contracts from '@pis/contracts';
import type * as domain from '@pis/domain';
import type { z } from 'zod';

/** Compiles when both are the same type. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** Compiles when `Client` has exactly the fields of `Service`, each with the same type or a narrower one. */
type Shows<Client, Service> = [Client] extends [Service]
  ? Same<keyof Client, keyof Service>
  : false;
/** Compiles when the service accepts everything that the client allows, and the client has every field. */
type Takes<Schema extends z.ZodType, Request> =
  Request extends z.input<Schema> ? Same<keyof Request, keyof z.input<Schema>> : false;

type True<Fact extends true> = Fact;

type PaymentPage = client.PaymentFilter & client.PageQuery;
type StatementPage = client.StatementFilter & client.PageQuery;
type OriginatorPage = client.AsOf & client.PageQuery;
type ContactPage = client.AsOf & client.ContactFilter & client.PageQuery;

/** Checked by `npm run typecheck`. */
export type InStep = [
  True<Same<client.PaymentStatus, domain.PaymentStatus>>,
  True<Same<client.Direction, domain.Direction>>,
  True<Same<client.PaymentRail, domain.PaymentRail>>,
  True<Same<client.AchService, domain.AchService>>,
  True<Same<client.FailureCode, domain.FailureCode>>,
  True<Same<client.EntityType, domain.EntityType>>,
  True<Same<client.BankAccountSubType, domain.BankAccountSubType>>,
  True<Same<client.EventType, domain.EventType>>,
  True<Same<client.Subscription, domain.Subscription>>,
  True<Same<client.ErrorCode, contracts.ErrorCode>>,
  True<Same<client.Problem, contracts.Problem>>,
  True<Same<client.SimulatedOutcome, contracts.SimulateRequest['outcome']>>,

  True<Shows<client.Originator, contracts.OriginatorView>>,
  True<Shows<client.Contact, contracts.ContactView>>,
  True<Shows<client.OriginatorAsOf, contracts.OriginatorListItem>>,
  True<Shows<client.ContactAsOf, contracts.ContactListItem>>,
  True<Shows<client.BankAccount, contracts.BankAccountView>>,
  True<Shows<client.LegalAddress, domain.LegalAddress>>,
  True<Shows<client.Payment, contracts.PaymentView>>,
  True<Shows<client.PartyWithAccount, contracts.PartyWithAccountView>>,
  True<Shows<client.PaymentListItem, contracts.PaymentListItem>>,
  True<Shows<client.Party, contracts.PartyView>>,
  True<Shows<client.PaymentEventData, contracts.PaymentEventData>>,
  True<Same<keyof client.RailEvaluation, keyof contracts.RailEvaluationView>>,
  True<Same<keyof client.RejectedRail, keyof contracts.RejectedRailView>>,
  True<Shows<client.Export, contracts.ExportView>>,
  True<Shows<client.ExportCreated, contracts.ExportCreatedView>>,
  True<Shows<client.WebhookEndpoint, contracts.WebhookEndpointView>>,

  True<Takes<typeof contracts.contactCreateSchema, client.ContactCreateRequest>>,
  True<Takes<typeof contracts.contactPatchSchema, client.ContactPatchRequest>>,
  True<Takes<typeof contracts.originatorPatchSchema, client.OriginatorPatchRequest>>,
  True<Takes<typeof contracts.paymentCreateSchema, client.PaymentCreateRequest>>,
  True<Takes<typeof contracts.simulateSchema, client.SimulateRequest>>,
  True<Takes<typeof contracts.exportCreateSchema, client.ExportCreateRequest>>,
  True<Takes<typeof contracts.webhookTestSchema, client.WebhookTestRequest>>,
  // Query parameters are text, and our arrays are read-only, so only the names can be compared.
  True<Same<keyof PaymentPage, keyof z.input<typeof contracts.paymentListReadSchema>>>,
  True<Same<keyof ContactPage, keyof z.input<typeof contracts.contactReadSchema>>>,
  True<Same<keyof OriginatorPage, keyof z.input<typeof contracts.originatorReadSchema>>>,
  True<Same<keyof StatementPage, keyof z.input<typeof contracts.statementListSchema>>>,
  True<Shows<client.Statement, contracts.StatementView>>,
  True<
    Same<keyof client.WebhookCreateRequest, keyof z.input<typeof contracts.webhookCreateSchema>>
  >,
  True<Same<keyof client.WebhookPatchRequest, keyof z.input<typeof contracts.webhookPatchSchema>>>,
];

const ids = {
  one: '6f0c3a1e-0000-4000-8000-000000000001',
  two: '6f0c3a1e-0000-4000-8000-000000000002',
};
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
  swiftCode: 'CHASUS33',
} as const;
const profile = {
  firstName: 'Ada',
  lastName: 'Moreno',
  companyName: 'Moreno Inc',
  email: 'ada@example.com',
  phoneNumber: '+12125550123',
  legalAddress: {
    addressLine1: '1 Main St',
    city: 'New York',
    state: 'NY',
    postalCode: '10001',
    countryCode: 'US',
  },
  bankAccount,
} as const;

// A value for every field of the client.
const contact: Required<client.ContactCreateRequest> = {
  originatorId: ids.one,
  entityType: 'BUSINESS',
  ...profile,
};
const payment: Required<client.PaymentCreateRequest> = {
  originatorId: ids.one,
  contactId: ids.two,
  paymentAmount: 1,
  direction: 'INBOUND',
  paymentNote: 'Invoice 1042',
  externalPaymentId: '1042',
};
const patch: Required<client.ContactPatchRequest> = profile;
const originatorPatch: Required<client.OriginatorPatchRequest> = profile;
const endpoint: Required<client.WebhookCreateRequest> = {
  url: 'https://hooks.example/',
  subscribedEvents: ['payment.*', 'statement.generated'],
  label: 'ours',
};
const endpointPatch: Required<client.WebhookPatchRequest> = { ...endpoint, enabled: false };
const test: Required<client.WebhookTestRequest> = { eventType: 'payment.returned' };
const simulate: Required<client.SimulateRequest> = { outcome: 'return', returnReasonCode: 'R01' };

it.each<[string, z.ZodType, object]>([
  ['a contact', contracts.contactCreateSchema, contact],
  ['a change of a contact', contracts.contactPatchSchema, patch],
  ['a change of an originator', contracts.originatorPatchSchema, originatorPatch],
  ['a payment', contracts.paymentCreateSchema, payment],
  ['a webhook endpoint', contracts.webhookCreateSchema, endpoint],
  ['a change of a webhook endpoint', contracts.webhookPatchSchema, endpointPatch],
  ['a test of a webhook endpoint', contracts.webhookTestSchema, test],
  ['a simulated outcome', contracts.simulateSchema, simulate],
])('the service takes every field of %s that the client can send', (_, schema, request) => {
  expect(contracts.validate(schema, request)).toEqual({ ok: true, value: request });
});
