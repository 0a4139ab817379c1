/**
 * How originators, contacts and webhook endpoints are shown (rules originator-item-1, contact-item-1,
 * endpoint-field-1 to endpoint-field-8). Field by field, so that a sealed value cannot slip through.
 */
import type { Contact, LegalAddress, Originator, PartyProfile, WebhookEndpoint } from '@pis/domain';
import { type BankAccountView, bankAccountView } from './payment-view.js';

export interface ProfileView {
  readonly entityType: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  /** Null only when the party was erased. */
  readonly email: string | null;
  readonly phoneNumber: string | null;
  readonly legalAddress: LegalAddress | null;
}

export interface OriginatorView extends ProfileView {
  readonly originatorId: string;
  /** Null only when the originator was erased. */
  readonly bankAccount: BankAccountView | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ContactView extends ProfileView {
  readonly contactId: string;
  readonly originatorId: string;
  readonly bankAccount: BankAccountView | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** In a list as of a time, a party that was erased since: its personal fields are null. */
interface MaybeErased {
  readonly erased?: true | undefined;
}
export type OriginatorListItem = OriginatorView & MaybeErased;
export type ContactListItem = ContactView & MaybeErased;

export const webhookHealths = ['healthy', 'degraded', 'failing'] as const;

/** The health of an endpoint's deliveries; both null when it is unknown at the moment. */
export interface WebhookHealthView {
  readonly health: (typeof webhookHealths)[number] | null;
  /** The first failed attempt after the last success. */
  readonly failingSince: string | null;
}

export interface WebhookEndpointView extends WebhookHealthView {
  readonly id: string;
  readonly url: string;
  readonly subscribedEvents: readonly string[];
  readonly label: string | null;
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Whether it is being erased is nobody's business. Corrections of its bank are for staff. */
type Shown<Party> = Omit<
  Party,
  'erasure' | 'erasureRequest' | 'correction' | 'lastReturn' | 'unsaved'
>;

export function originatorView(originator: Shown<Originator>): OriginatorView {
  return {
    originatorId: originator.originatorId,
    ...profileView(originator),
    bankAccount: originator.bankAccount && bankAccountView(originator.bankAccount),
    createdAt: originator.createdAt,
    updatedAt: originator.updatedAt,
  };
}

export function contactView(contact: Shown<Contact>): ContactView {
  return {
    contactId: contact.contactId,
    originatorId: contact.originatorId,
    ...profileView(contact),
    bankAccount: contact.bankAccount && bankAccountView(contact.bankAccount),
    createdAt: contact.createdAt,
    updatedAt: contact.updatedAt,
  };
}

export function webhookEndpointView(
  endpoint: WebhookEndpoint,
  { health, failingSince }: WebhookHealthView,
): WebhookEndpointView {
  return {
    id: endpoint.endpointId,
    url: endpoint.url,
    subscribedEvents: endpoint.subscribedEvents,
    label: endpoint.label,
    enabled: endpoint.enabled,
    health,
    failingSince,
    createdAt: endpoint.createdAt,
    updatedAt: endpoint.updatedAt,
  };
}

function profileView(party: PartyProfile): ProfileView {
  return {
    entityType: party.entityType,
    firstName: party.firstName,
    lastName: party.lastName,
    companyName: party.companyName,
    email: party.email,
    phoneNumber: party.phoneNumber,
    legalAddress: party.legalAddress && legalAddressView(party.legalAddress),
  };
}

export function legalAddressView(address: LegalAddress): LegalAddress {
  const { addressLine1, city, state, postalCode, countryCode } = address;
  return { addressLine1, city, state, postalCode, countryCode };
}
