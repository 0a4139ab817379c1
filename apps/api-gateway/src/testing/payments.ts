/** An organization with an originator and a contact, and its requests. */
import { randomUUID } from 'node:crypto';
import { createContact, type Gateway, type Reply, type Tenant } from './gateway.js';

export interface Payer {
  readonly gateway: Gateway;
  readonly tenant: Tenant;
  readonly contactId: string;
  body(overrides?: object): Record<string, unknown>;
  pay(options?: { readonly key?: string; readonly body?: unknown }): Promise<Reply>;
  get(paymentId: string): Promise<Reply>;
  /** `query` begins with a question mark. */
  list(query?: string): Promise<Reply>;
}

/** `contact`: overrides of the contact's create request. */
export async function createPayer(gateway: Gateway, contact: object = {}): Promise<Payer> {
  const tenant = await gateway.createTenant();
  const contactId = await createContact(gateway, tenant, contact);
  const body = (overrides: object = {}) => ({
    originatorId: tenant.originatorId,
    contactId,
    paymentAmount: 12_345,
    direction: 'OUTBOUND',
    ...overrides,
  });
  return {
    gateway,
    tenant,
    contactId,
    body,
    pay: ({ key = randomUUID(), body: sent = body() } = {}) => {
      const headers = { 'idempotency-key': key };
      return gateway.call('/v1/payments/', { tenant, method: 'POST', body: sent, headers });
    },
    get: (paymentId) => gateway.call(`/v1/payments/${paymentId}`, { tenant }),
    list: (query = '') => gateway.call(`/v1/payments/${query}`, { tenant }),
  };
}

/** A key as its bytes in UTF-8, as sent in a header. */
export const inHeader = (key: string) => Buffer.from(key, 'utf8').toString('latin1');

export const idOf = (reply: Reply) => (reply.body?.data as { paymentId: string }).paymentId;
/** For instance `200` or `404 NOT_FOUND`. */
export const codeOf = (reply: Reply) => `${reply.status} ${reply.body?.error?.code ?? ''}`.trim();
export const itemsOf = (reply: Reply) => reply.body?.data as Record<string, unknown>[];
export const idsOf = (reply: Reply) => itemsOf(reply).map((item) => item['paymentId']);
/** For instance `limit validation_min`. */
export const issuesOf = (reply: Reply) =>
  reply.body?.error?.details?.map(({ field, issue }) => `${field} ${issue}`) ?? [];
