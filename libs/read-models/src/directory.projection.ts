/**
 * Directory: organizations, originators, contacts, webhook endpoints, API keys, approvals and statements, for lists. `item`
 * is the finished list item (rules originator-item-1 and contact-item-1). No secret and no sealed value
 * enters a row: items are built field by field.
 */
import {
  bankAccountView,
  type BankAccountView,
  contactView,
  type ContactView,
  legalAddressView,
  originatorView,
  type OriginatorView,
  type ProfileView,
  type WebhookEndpointView,
  type WebhookHealthView,
} from '@pis/contracts';
import {
  apiKey,
  contact,
  type ContactEvent,
  defaultTimeZone,
  erasedFields,
  organization,
  originator,
  type PartyChanges,
  unreachable,
  webhookEndpoints,
} from '@pis/domain';
import { domainEventOf, type RecordedEvent } from '@pis/event-store';
import { approvalsTable } from './approvals.projection.js';
import { withErasures } from './erased-parties.js';
import { statementsTable } from './statements.projection.js';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import { type Projection, readTable, type ReadTableDefinition } from './projection.js';

/** The list item of a party: what contracts shows, the same in lists and single reads. */
type PartyItem = ProfileView & {
  readonly bankAccount: BankAccountView | null;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** Health is not part of the row: it is read when the list is. */
type WebhookEndpointItem = Omit<WebhookEndpointView, keyof WebhookHealthView>;

/** The first event of a row that is not there: the log and the table contradict each other. */
function existing<Row>(row: Row | null): Row {
  if (row === null) throw new Error('a record cannot begin with this event');
  return row;
}

const isFirst = ({ revision }: RecordedEvent) => revision === 0;

export type OrganizationRow = {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
  /** Null for the period of the installation. */
  readonly retentionYears: number | null;
  readonly timeZone: string;
  /** SHA-256 of the logo, hex; null without one. */
  readonly logoDigest: string | null;
  /** The PNG, base64. */
  readonly logo: string | null;
  readonly revision: number;
};

const organizationsTable: ReadTableDefinition<OrganizationRow> = {
  name: 'organizations',
  key: 'organizationId',
  ownsStream: true,
  columns: {
    organizationId: 'uuid',
    name: 'text',
    createdAt: 'timestamptz(3)',
    retentionYears: 'integer',
    timeZone: 'text',
    logoDigest: 'text',
    logo: 'text',
    revision: 'integer',
  },
  category: 'organization',
  begins: isFirst,
  evolve(row, recorded) {
    const event = domainEventOf(organization, recorded);
    switch (event.type) {
      case 'OrganizationCreated':
        return {
          organizationId: event.data.organizationId,
          name: event.data.name,
          createdAt: event.at,
          retentionYears: null,
          timeZone: defaultTimeZone,
          logoDigest: null,
          logo: null,
        };
      // The list shows no rail settings, fees or amount for approvals.
      case 'OrganizationRailsSet':
      case 'OrganizationFeesSet':
      case 'OrganizationApprovalsSet':
        return existing(row);
      case 'OrganizationRetentionSet':
        return { ...existing(row), retentionYears: event.data.retentionYears };
      case 'OrganizationTimeZoneSet':
        return { ...existing(row), timeZone: event.data.timeZone };
      case 'OrganizationBrandingSet': {
        const { name, logo } = event.data;
        const before = { ...existing(row), name };
        if (logo === undefined) return before;
        return { ...before, logoDigest: logo?.digest ?? null, logo: logo?.png ?? null };
      }
      default:
        return unreachable(event);
    }
  },
};

/** Field by field: whatever else a later event may carry does not leak into the list. */
function changed<Item extends PartyItem>(item: Item, changes: PartyChanges, at: string): Item {
  const { bankAccount, legalAddress: address } = changes;
  return {
    ...item,
    ...(changes.firstName === undefined ? {} : { firstName: changes.firstName }),
    ...(changes.lastName === undefined ? {} : { lastName: changes.lastName }),
    ...(changes.companyName === undefined ? {} : { companyName: changes.companyName }),
    ...(changes.email === undefined ? {} : { email: changes.email }),
    ...(changes.phoneNumber === undefined ? {} : { phoneNumber: changes.phoneNumber }),
    ...(address === undefined ? {} : { legalAddress: address && legalAddressView(address) }),
    ...(bankAccount === undefined
      ? {}
      : { bankAccount: bankAccount && bankAccountView(bankAccount) }),
    updatedAt: at,
  };
}

/** The item of a party that was erased. No list shows it. */
function erased<Item extends PartyItem>(item: Item, at: string): Item {
  return { ...item, ...erasedFields, updatedAt: at };
}

export type OriginatorRow = {
  readonly originatorId: string;
  readonly organizationId: string;
  readonly createdAt: string;
  readonly erasedAt: string | null;
  readonly revision: number;
  readonly item: OriginatorView;
};

const originatorsTable: ReadTableDefinition<OriginatorRow> = {
  name: 'originators',
  key: 'originatorId',
  ownsStream: true,
  columns: {
    originatorId: 'uuid',
    organizationId: 'uuid',
    createdAt: 'timestamptz(3)',
    erasedAt: 'timestamptz(3)',
    revision: 'integer',
    item: 'json',
  },
  category: 'originator',
  begins: isFirst,
  evolve(row, recorded) {
    const event = domainEventOf(originator, recorded);
    if (event.type === 'OriginatorCreated') {
      const { at, data } = event;
      const { originatorId, organizationId } = data;
      const item = originatorView({ ...data, createdAt: at, updatedAt: at });
      return { originatorId, organizationId, createdAt: at, erasedAt: null, item };
    }
    const before = existing(row);
    switch (event.type) {
      case 'OriginatorUpdated':
        return { ...before, item: changed(before.item, event.data.changes, event.at) };
      case 'OriginatorErased':
        return { ...before, erasedAt: event.at, item: erased(before.item, event.at) };
      case 'OriginatorErasureRequested':
      case 'OriginatorErasureWithdrawn':
      case 'OriginatorErasureConfirmed':
        return before;
      default:
        return unreachable(event);
    }
  },
};

export type ContactRow = {
  readonly contactId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly createdAt: string;
  readonly erasedAt: string | null;
  readonly revision: number;
  readonly item: ContactView;
};

const contactsTable: ReadTableDefinition<ContactRow> = {
  name: 'contacts',
  key: 'contactId',
  ownsStream: true,
  columns: {
    contactId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    createdAt: 'timestamptz(3)',
    erasedAt: 'timestamptz(3)',
    revision: 'integer',
    item: 'json',
  },
  category: 'contact',
  // A creation that was forfeited concerns no contact.
  keyOf: ({ type }, id) => (type === 'ContactCreationForfeited' ? null : id),
  begins: isFirst,
  evolve(row, recorded) {
    const event = domainEventOf(contact, recorded);
    if (event.type === 'ContactCreated') {
      const { at, data } = event;
      const { contactId, originatorId, organizationId } = data;
      const item = contactView({ ...data, createdAt: at, updatedAt: at });
      return { contactId, organizationId, originatorId, createdAt: at, erasedAt: null, item };
    }
    if (event.type === 'UnsavedContactNoted') return unlisted(event);
    const before = existing(row);
    switch (event.type) {
      case 'ContactUpdated':
        return { ...before, item: changed(before.item, event.data.changes, event.at) };
      case 'ContactErased':
        return { ...before, erasedAt: event.at, item: erased(before.item, event.at) };
      case 'ContactIdentityForfeited':
      case 'ContactCreationForfeited':
      case 'ContactCorrectionReported':
      case 'ContactCorrectionDismissed':
      case 'ContactReturnReported':
      case 'ContactErasureRequested':
      case 'ContactErasureWithdrawn':
      case 'ContactErasureConfirmed':
        return before;
      default:
        return unreachable(event);
    }
  },
};

/** A counterparty that is known only for its erasure. Its row is in no list, like that of an erased contact. */
function unlisted({
  at,
  data,
}: Extract<ContactEvent, { type: 'UnsavedContactNoted' }>): Omit<ContactRow, 'revision'> {
  const party = { ...data, ...erasedFields, identity: '', createdAt: at, updatedAt: at };
  return {
    contactId: data.contactId,
    organizationId: data.organizationId,
    originatorId: data.originatorId,
    createdAt: at,
    erasedAt: at,
    item: contactView(party),
  };
}

export type WebhookEndpointRow = {
  readonly endpointId: string;
  readonly organizationId: string;
  readonly createdAt: string;
  readonly deletedAt: string | null;
  readonly revision: number;
  readonly item: WebhookEndpointItem;
};

const webhookEndpointsTable: ReadTableDefinition<WebhookEndpointRow> = {
  name: 'webhook_endpoints',
  key: 'endpointId',
  // One stream holds all endpoints of an organization.
  ownsStream: false,
  columns: {
    endpointId: 'uuid',
    organizationId: 'uuid',
    createdAt: 'timestamptz(3)',
    deletedAt: 'timestamptz(3)',
    revision: 'integer',
    item: 'json',
  },
  category: 'webhookEndpoints',
  keyOf: (recorded) => domainEventOf(webhookEndpoints, recorded).data.endpointId,
  begins: ({ type }) => type === 'WebhookEndpointCreated',
  evolve(row, recorded) {
    const event = domainEventOf(webhookEndpoints, recorded);
    const { at } = event;
    if (event.type === 'WebhookEndpointCreated') {
      const { endpointId, organizationId, url, subscribedEvents, label } = event.data;
      const item = { id: endpointId, url, subscribedEvents, label, enabled: true };
      return {
        endpointId,
        organizationId,
        createdAt: at,
        deletedAt: null,
        item: { ...item, createdAt: at, updatedAt: at },
      };
    }
    const before = existing(row);
    if (event.type === 'WebhookEndpointDeleted') return { ...before, deletedAt: at };
    const { item } = before;
    // Secrets are not for lists.
    if (event.type === 'WebhookEndpointSecretRotated')
      return { ...before, item: { ...item, updatedAt: at } };
    const { url, subscribedEvents, label, enabled } = event.data.changes;
    return {
      ...before,
      item: {
        ...item,
        url: url ?? item.url,
        subscribedEvents: subscribedEvents ?? item.subscribedEvents,
        label: label === undefined ? item.label : label,
        enabled: enabled ?? item.enabled,
        updatedAt: at,
      },
    };
  },
};

export type ApiKeyRow = {
  readonly apiKeyId: string;
  readonly organizationId: string;
  /** SHA-256 of the key, hex; names its stream. */
  readonly digest: string;
  readonly keyType: string;
  readonly environment: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly createdAt: string;
  readonly revision: number;
};

const apiKeysTable: ReadTableDefinition<ApiKeyRow> = {
  name: 'api_keys',
  key: 'apiKeyId',
  ownsStream: true,
  columns: {
    apiKeyId: 'uuid',
    organizationId: 'uuid',
    digest: 'text',
    keyType: 'text',
    environment: 'text',
    expiresAt: 'timestamptz(3)',
    revokedAt: 'timestamptz(3)',
    createdAt: 'timestamptz(3)',
    revision: 'integer',
  },
  category: 'apiKey',
  // The stream is named by the digest; both events carry the id.
  keyOf: (recorded) => domainEventOf(apiKey, recorded).data.apiKeyId,
  begins: isFirst,
  evolve(row, recorded) {
    const event = domainEventOf(apiKey, recorded);
    if (event.type === 'ApiKeyRevoked') return { ...existing(row), revokedAt: event.at };
    const { apiKeyId, organizationId, digest, keyType, environment, expiresAt } = event.data;
    const fields = { apiKeyId, organizationId, digest, keyType, environment, expiresAt };
    return { ...fields, revokedAt: null, createdAt: event.at };
  },
};

export const directoryProjection: Projection = {
  name: 'directory',
  streamPrefixes: prefixesFollowedBy('directory'),
  laterPrefixes: laterPrefixesOf('directory'),
  tables: [
    readTable(organizationsTable),
    withErasures(readTable(originatorsTable)),
    withErasures(readTable(contactsTable)),
    readTable(webhookEndpointsTable),
    readTable(apiKeysTable),
    readTable(approvalsTable),
    readTable(statementsTable),
  ],
};
