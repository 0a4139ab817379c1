/** For the specs of payment links: an organization on a store in memory, and the tables of links in memory. */
import { randomUUID } from 'node:crypto';
import { defaultCutoffs, sandboxDirectory as banks } from '@pis/bank-rails';
import {
  type ContactCreateRequest,
  contactCreateSchema,
  type DashboardPaymentRequest,
  dashboardPaymentSchema,
  validate,
} from '@pis/contracts';
import { type Payment, paymentRails, payment as payments } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { ContactDirectory } from '../contact-directory.js';
import type { LinkAccess, LinkAccessLog, LinkRow, LinkTable } from '../payment-links/link-ports.js';
import { PaymentLinks, type PaymentLinksOptions } from '../payment-links/payment-links.js';
import { createOrganization, createOriginator } from '../provisioning.js';
import { unrefused } from '../use-case.js';

export const by = systemContext('test');
export const at = '2026-11-23T15:00:00.000Z';
export const visitor = { ip: '203.0.113.7', userAgent: 'Browser/1.0' };
export const client = { ...visitor, network: visitor.ip };
export const account = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
} as const;
export const submission = {
  subType: 'SAVINGS',
  achRoutingNumber: '011401533',
  achAccountNumber: '555000111222',
  legalAddress: {
    addressLine1: '1 Main Street',
    city: 'Springfield',
    state: 'IL',
    postalCode: '62701',
    countryCode: 'US',
  },
} as const;
export const stranger = {
  entityType: 'INDIVIDUAL',
  firstName: 'Grace',
  lastName: 'Hopper',
} as const;

export interface MemoryTables {
  readonly rows: Map<string, LinkRow>;
  readonly accesses: LinkAccess[];
  readonly table: LinkTable;
  readonly log: LinkAccessLog;
}

export function memoryTables(): MemoryTables {
  const rows = new Map<string, LinkRow>();
  const disabled = new Set<string>();
  const accesses: LinkAccess[] = [];
  const table: LinkTable = {
    add: async (row) => void rows.set(row.tokenDigest, row),
    find: async (digest) => {
      const paymentId = rows.get(digest)?.paymentId ?? null;
      return paymentId === null || disabled.has(paymentId) ? null : paymentId;
    },
    disable: async (paymentId) => void disabled.add(paymentId),
  };
  const log: LinkAccessLog = {
    async record(access) {
      const index = accesses.findIndex(({ accessId }) => accessId === access.accessId);
      const known = accesses[index];
      if (known === undefined) accesses.push({ ...access, lastAt: access.at, count: 1 });
      else accesses[index] = { ...known, lastAt: access.at, count: known.count + 1 };
    },
    async recordRepeats(repeats) {
      for (const { access, lastAt, count } of repeats) {
        const index = accesses.findIndex(({ accessId }) => accessId === access.accessId);
        const known = accesses[index];
        if (known === undefined) accesses.push({ ...access, lastAt, count });
        else accesses[index] = { ...known, lastAt, count: known.count + count };
      }
    },
    async setOutcome(accessId, outcome) {
      const index = accesses.findIndex((access) => access.accessId === accessId);
      const access = accesses[index];
      if (access !== undefined) accesses[index] = { ...access, outcome };
    },
    async list(paymentId, limitOfKind) {
      const counts = { open: 0, submit: 0, show: 0 };
      return accesses.toReversed().filter((access) => {
        if (access.paymentId !== paymentId) return false;
        counts[access.kind] += 1;
        return counts[access.kind] <= limitOfKind || access.outcome === 'QUEUED';
      });
    },
  };
  return { rows, accesses, table, log };
}

export async function linkWorld(overrides: Partial<PaymentLinksOptions> = {}) {
  const {
    keyring = testKeyring(),
    store = sealedStore(memoryEventStore(), keyring),
  }: Pick<typeof overrides, 'keyring' | 'store'> = overrides;
  const memory = memoryTables();
  const clock = { at };
  const feeSchedule = { discountBasisPoints: 25, flatFeeMinor: 50, returnFeeMinor: 400 };
  const created = await createOrganization({ store, by }, { name: 'Acme', feeSchedule });
  const { organizationId } = unrefused(created);
  const newOriginator = async (companyName: string) => {
    const email = 'a@b.example';
    const input = { entityType: 'BUSINESS', companyName, email, bankAccount: account };
    const options = { organizationId, input, keyring, banks };
    return unrefused(await createOriginator({ store, by }, options)).originatorId;
  };
  const originatorId = await newOriginator('Acme Billing');
  const rails = { connectedRails: paymentRails, cutoffs: defaultCutoffs };
  const options = {
    ...{ store, keyring, banks, rails, ownWrites: { note: () => undefined } },
    ...{ states: new StreamStates(), table: memory.table, accesses: memory.log },
    ...{ publicUrl: 'https://pay.example', clock: () => clock.at, ...overrides },
  };
  const links = new PaymentLinks(options);
  const directory = new ContactDirectory(options);
  const newContact = async (changes: object = {}) => {
    const ada = { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' };
    const email = `${randomUUID()}@example.com`;
    const body = { originatorId, email, ...ada, bankAccount: account, ...changes };
    const valid = validate<ContactCreateRequest>(contactCreateSchema, body);
    if (!valid.ok) throw new Error(JSON.stringify(valid.problems));
    return unrefused(await directory.create(organizationId, valid.value, by)).contactId;
  };
  const requestOf = (changes: object = {}): DashboardPaymentRequest => {
    const recipient = stranger;
    const body = { originatorId, direction: 'INBOUND', recipient, paymentAmount: 10_000 };
    const valid = validate<DashboardPaymentRequest>(dashboardPaymentSchema, {
      ...body,
      ...changes,
    });
    if (!valid.ok) throw new Error(JSON.stringify(valid.problems));
    return valid.value;
  };
  const ask = (changes: object = {}, idempotencyKey: string = randomUUID()) =>
    links.request(organizationId, requestOf(changes), { userId: 'u-1', idempotencyKey }, by);
  /** A payment with a link, and the token of it. */
  const linked = async (changes: object = {}) => {
    const requested = unrefused(await ask(changes));
    return { ...requested, token: tokenIn(requested.url) };
  };
  const stateOf = (paymentId: string) => paymentIn(store, paymentId);
  return {
    ...{ store, keyring, memory, clock, organizationId, originatorId, links, directory, options },
    ...{ newOriginator, newContact, requestOf, ask, linked, stateOf },
  };
}

export function tokenIn(url: string | null): string {
  const token = url?.split('/pay/')[1];
  if (token === undefined) throw new Error(`no token in ${url}`);
  return token;
}

export async function paymentIn(store: EventStore, paymentId: string): Promise<Payment> {
  const { state } = await repository(store, payments).load(paymentId);
  if (state === null) throw new Error(`no payment ${paymentId}`);
  return state;
}
