/**
 * Snapshots of states outlive the code that folded them. This spec compares what `evolve` makes of fixed
 * events with the aggregate's stateVersion. It fails when only one of them changes.
 */
import { createHash } from 'node:crypto';
import { contact } from './contact/contact.js';
import { contactIdentity } from './contact/contact-identity.js';
import { organization } from './organization/organization.js';
import { originator } from './originator/originator.js';
import {
  at,
  bankAccountExample,
  contactExample,
  ids,
  later,
  legalAddress,
  organizationExample,
  originatorExample,
} from './testing/examples.js';
import { webhookEndpoints } from './webhook-endpoints/webhook-endpoints.js';

const { organization: organizationId, contact: contactId } = ids;

/** The state after each of some events, in order. */
function states<State, Event>(
  { initial, evolve }: { initial: State; evolve(state: State, event: Event): State },
  events: readonly NoInfer<Event>[],
): State[] {
  const seen: State[] = [];
  events.reduce((state, event) => {
    seen.push(evolve(state, event));
    return evolve(state, event);
  }, initial);
  return seen;
}

const changes = { legalAddress, bankAccount: bankAccountExample({ sealed: 'v1.other' }) };

const erasureRequest = { reason: 'requested', by: 'user:cli:ada', overridesRetention: false };

const endpoint = {
  organizationId,
  endpointId: ids.otherContact,
  url: 'https://hooks.example/pis',
  subscribedEvents: ['payment.completed', 'statement.generated'],
  label: null,
  sealedSecret: 'v1.sealed-secret',
} as const;

const folded = {
  organization: states(organization, [
    { type: 'OrganizationCreated', at, data: organizationExample() },
    {
      type: 'OrganizationRailsSet',
      at: later,
      data: { allowedRails: ['ACH'], preference: 'cheapest', limitsMinor: { ACH: 100 } },
    },
    { type: 'OrganizationRetentionSet', at: later, data: { retentionYears: 10 } },
    {
      type: 'OrganizationBrandingSet',
      at: later,
      data: { name: 'Acme', logo: { digest: 'd', width: 1, height: 2, png: 'iVBO' } },
    },
    { type: 'OrganizationBrandingSet', at: later, data: { name: 'Acme Inc' } },
    {
      type: 'OrganizationFeesSet',
      at: later,
      data: {
        rules: [
          {
            ...{ originatorId: null, rail: 'ACH', direction: null, from: at },
            ...{ discountBasisPoints: 10, discountMinMinor: null, discountCapMinor: 500 },
            ...{ flatFeeMinor: 25, returnFeeMinor: 400 },
          },
        ],
      },
    },
    { type: 'OrganizationApprovalsSet', at: later, data: { approvalAboveMinor: 100 } },
    { type: 'OrganizationTimeZoneSet', at: later, data: { timeZone: 'Asia/Tokyo' } },
  ]),
  originator: states(originator, [
    { type: 'OriginatorCreated', at, data: originatorExample() },
    { type: 'OriginatorUpdated', at: later, data: { changes } },
    { type: 'OriginatorErasureRequested', at: later, data: erasureRequest },
    { type: 'OriginatorErasureWithdrawn', at: later, data: { cause: 'RETENTION_RUNNING' } },
    { type: 'OriginatorErasureRequested', at: later, data: erasureRequest },
    { type: 'OriginatorErasureConfirmed', at: later, data: {} },
    { type: 'OriginatorErased', at: later, data: { organizationId, entityType: 'BUSINESS' } },
  ]),
  contact: states(contact, [
    { type: 'ContactCreated', at, data: contactExample() },
    { type: 'ContactUpdated', at: later, data: { changes, identity: 'identity-2' } },
    { type: 'ContactIdentityForfeited', at: later, data: { identity: 'identity-1' } },
    {
      type: 'ContactCorrectionReported',
      at: later,
      data: { paymentId: ids.payment, changeCode: 'C01', corrected: 'v2.sealed' },
    },
    {
      type: 'ContactCorrectionDismissed',
      at: later,
      data: { paymentId: ids.payment, changeCode: 'C01' },
    },
    {
      type: 'ContactReturnReported',
      at: later,
      data: { paymentId: ids.payment, returnReasonCode: 'R02', returnedAt: later },
    },
    { type: 'ContactErasureRequested', at: later, data: erasureRequest },
    { type: 'ContactErasureWithdrawn', at: later, data: { cause: 'PAYMENTS_NOT_FINAL' } },
    { type: 'ContactErasureRequested', at: later, data: erasureRequest },
    { type: 'ContactErasureConfirmed', at: later, data: {} },
    { type: 'ContactErased', at: later, data: { organizationId, entityType: 'INDIVIDUAL' } },
  ]),
  contactIdentity: states(contactIdentity, [
    { type: 'ContactIdentityReserved', at, data: { contactId } },
    { type: 'ContactIdentityReleased', at: later, data: { contactId } },
  ]),
  webhookEndpoints: states(webhookEndpoints, [
    { type: 'WebhookEndpointCreated', at, data: endpoint },
    {
      type: 'WebhookEndpointUpdated',
      at: later,
      data: { organizationId, endpointId: endpoint.endpointId, changes: { enabled: false } },
    },
    {
      type: 'WebhookEndpointSecretRotated',
      at: later,
      data: {
        organizationId,
        endpointId: endpoint.endpointId,
        sealedSecret: 'v1.other-secret',
        previousSecretEndsAt: later,
      },
    },
  ]),
} as const;

const versions = { organization, originator, contact, contactIdentity, webhookEndpoints };

/** A new line for a new stateVersion; never another hash for the same one. */
const known: readonly string[] = [
  'organization 1 081ae0108499488f',
  'organization 2 737a5c72099d0169',
  'organization 3 bb513f5c1e95f1dc',
  'organization 4 fcdd17bb4b5aab14',
  'organization 5 d82d502e1b5f14b9',
  'organization 6 938ccb9aa614c8f9',
  'organization 7 4a2adc09cac0bee6',
  'originator 1 1849e2e437ffa7bc',
  'originator 2 17287074f25b48bf',
  'originator 3 29362a9d9ded71ea',
  'contact 1 809682ce275ef654',
  'contact 2 138981a2f3c09ee1',
  'contact 3 8e97d7f975d6830b',
  'contact 4 f8b92d815a29956c',
  'contact 5 555bba724d42834c',
  'contact 6 80f8cb3ab9e52e0c',
  'contactIdentity 1 6d4dd1040e14ab9c',
  'webhookEndpoints 1 efd205479037d161',
  'webhookEndpoints 2 3457763e75493ff9',
];

it.each(Object.keys(folded) as (keyof typeof folded)[])(
  'raise the stateVersion of %s when the state that its events fold to changes',
  (category) => {
    const text = JSON.stringify(folded[category]);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    expect(known).toContain(`${category} ${versions[category].stateVersion} ${hash}`);
  },
);

it.each(Object.values(folded))('a state survives a snapshot as it is', (...seen) => {
  expect(JSON.parse(JSON.stringify(seen))).toEqual(seen);
});
