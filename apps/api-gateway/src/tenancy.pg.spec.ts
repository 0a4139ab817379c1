/**
 * Access to every operation of the reference. An operation without a row here fails. Each is tried with the
 * keys of its organization, with invalid keys, and with the keys of another organization, which must see
 * nothing.
 */
import { randomUUID } from 'node:crypto';
import { createApiKey, digestOfApiKey, revokeApiKey, unrefused } from '@pis/commands';
import { openApiDocument } from '@pis/contracts';
import type { ApiKeyType } from '@pis/domain';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import {
  by,
  type Call,
  contactBody,
  createContact,
  type Gateway,
  type Reply,
  startGateway,
} from './testing/gateway.js';
import { insertDelivery } from './testing/deliveries.js';
import { signLog } from './testing/audit.js';
import { writeExports } from './testing/exports.js';
import { codeOf, createPayer, idOf, type Payer } from './testing/payments.js';

interface Row {
  /** Creates a new record for each call, and returns its path. Default: the operation's own path. */
  readonly path?: (owner: Payer) => Promise<string>;
  /** A valid body. A new one for each call if a repeated one would be refused. */
  readonly body?: (owner: Payer) => object;
  /** The status for its own organization. */
  readonly success: number;
  /** The status for another organization with the same path and body. Default: 404. */
  readonly foreign?: number;
  /** Open to keys that read, although it is no GET. */
  readonly isRead?: true;
}

const newContact = (owner: Payer) =>
  createContact(owner.gateway, owner.tenant, { email: `${randomUUID()}@x.example` });
const newPayment = async (owner: Payer) => idOf(await owner.pay());
const newPaymentSigned = async (owner: Payer) => {
  const paymentId = await newPayment(owner);
  await signLog(owner.gateway);
  return paymentId;
};
const endpointBody = () => ({ url: 'https://203.0.113.7/', subscribedEvents: [] as string[] });
const newEndpoint = async ({ gateway, tenant }: Payer) => {
  const body = { ...endpointBody(), subscribedEvents: ['statement.generated'] };
  const created = await gateway.call('/v1/webhooks', { tenant, method: 'POST', body });
  const { id } = created.body?.data as { id: string };
  const path = `/v1/webhooks/${id}`;
  // Frees its place: an event type allows five.
  await gateway.call(path, { tenant, method: 'PATCH', body: { subscribedEvents: [] } });
  return path;
};
const newDelivery = async (owner: Payer) => {
  const endpointId = (await newEndpoint(owner)).replace('/v1/webhooks/', '');
  const { organizationId } = owner.tenant;
  const place = { organizationId, endpointId, state: 'delivered' } as const;
  return `/v1/webhooks/deliveries/${(await insertDelivery(owner.gateway, place)).id}`;
};
const newReplay = async ({ gateway, tenant, ...owner }: Payer) => {
  const endpoint = await newEndpoint({ gateway, tenant, ...owner });
  const call = { tenant, method: 'POST', body: { from: '2026-01-01' } } as const;
  const { body } = await gateway.call(`${endpoint}/replay`, call);
  return `${endpoint}/replays/${(body?.data as { replayId: string }).replayId}`;
};
const exportBody = { kind: 'payments', format: 'jsonl', from: '2199-01-01' } as const;
/** A written one: it leaves its place to others. */
const newExport = async (owner: Payer) => {
  const { gateway, tenant } = owner;
  const call = { tenant, method: 'POST', body: exportBody } as const;
  const { body } = await gateway.call('/v1/exports', call);
  await writeExports(gateway);
  return `/v1/exports/${(body?.data as { exportId: string }).exportId}`;
};
/** No organization has a statement yet. */
const noStatement = { success: 404 } as const;

const rows: Readonly<Record<string, Row>> = {
  'GET /v1/originators/': { success: 200, foreign: 200 },
  'PATCH /v1/originators/{originatorId}': {
    path: async ({ tenant }) => `/v1/originators/${tenant.originatorId}`,
    body: () => ({ email: `${randomUUID()}@x.example` }),
    success: 200,
  },
  'POST /v1/contacts/': {
    body: ({ tenant }) => contactBody(tenant, { email: `${randomUUID()}@x.example` }),
    success: 201,
  },
  'GET /v1/contacts/': { success: 200, foreign: 200 },
  'PATCH /v1/contacts/{contactId}': {
    path: async (owner) => `/v1/contacts/${await newContact(owner)}`,
    body: () => ({ phoneNumber: '+12125550123' }),
    success: 200,
  },
  'POST /v1/payments/': { body: (owner) => owner.body(), success: 201 },
  'GET /v1/payments/{paymentId}': {
    path: async (owner) => `/v1/payments/${await newPayment(owner)}`,
    success: 200,
  },
  'GET /v1/payments/': { success: 200, foreign: 200 },
  'POST /v1/rails/evaluate': { body: (owner) => owner.body(), success: 200, isRead: true },
  'POST /v1/sandbox/payments/{paymentId}/simulate': {
    path: async (owner) => `/v1/sandbox/payments/${await newPayment(owner)}/simulate`,
    body: () => ({ outcome: 'fail' }),
    success: 200,
  },
  // It names no record of this organization: another one creates its own.
  'POST /v1/webhooks': {
    body: () => ({ ...endpointBody(), subscribedEvents: ['payment.blocked'] }),
    success: 201,
    foreign: 201,
  },
  'GET /v1/webhooks': { success: 200, foreign: 200 },
  'GET /v1/webhooks/{id}': { path: newEndpoint, success: 200 },
  'PATCH /v1/webhooks/{id}': { path: newEndpoint, body: () => ({ label: 'x' }), success: 200 },
  'DELETE /v1/webhooks/{id}': { path: newEndpoint, success: 204 },
  'POST /v1/webhooks/{id}/test': {
    path: async (owner) => `${await newEndpoint(owner)}/test`,
    body: () => ({}),
    success: 200,
  },
  'POST /v1/webhooks/{id}/rotate-secret': {
    path: async (owner) => `${await newEndpoint(owner)}/rotate-secret`,
    body: () => ({}),
    success: 200,
  },
  'GET /v1/webhooks/{id}/deliveries': {
    path: async (owner) => `${await newEndpoint(owner)}/deliveries`,
    success: 200,
  },
  'GET /v1/webhooks/deliveries/{deliveryId}': { path: newDelivery, success: 200 },
  'POST /v1/webhooks/deliveries/{deliveryId}/redeliver': {
    path: async (owner) => `${await newDelivery(owner)}/redeliver`,
    success: 200,
  },
  'POST /v1/webhooks/{id}/replay': {
    path: async (owner) => `${await newEndpoint(owner)}/replay`,
    body: () => ({ from: '2026-01-01' }),
    success: 202,
  },
  'GET /v1/webhooks/{id}/replays/{replayId}': { path: newReplay, success: 200 },
  'GET /v1/events': { success: 200, foreign: 200 },
  'GET /v1/statements': { success: 200, foreign: 200 },
  // Naming an originator, so that another organization does not find it.
  'POST /v1/exports': {
    body: ({ tenant: { originatorId } }) => ({ ...exportBody, originatorId }),
    success: 202,
  },
  'GET /v1/exports': { success: 200, foreign: 200 },
  'GET /v1/exports/{exportId}': { path: newExport, success: 200 },
  'GET /v1/exports/{exportId}/file': {
    path: async (owner) => `${await newExport(owner)}/file`,
    success: 200,
  },
  'POST /v1/exports/{exportId}/cancel': {
    path: async (owner) => `${await newExport(owner)}/cancel`,
    success: 200,
  },
  'GET /v1/audit/key': { success: 200, foreign: 200 },
  'GET /v1/audit/checkpoints': { success: 200, foreign: 200 },
  'GET /v1/audit/consistency': {
    path: async () => '/v1/audit/consistency?from=1&to=1',
    success: 200,
    foreign: 200,
  },
  'GET /v1/payments/{paymentId}/proof': {
    path: async (owner) => `/v1/payments/${await newPaymentSigned(owner)}/proof`,
    success: 200,
  },
  'GET /v1/statements/{statementId}': {
    path: async () => `/v1/statements/${randomUUID()}`,
    ...noStatement,
  },
  'GET /v1/statements/{statementId}/pdf': {
    path: async () => `/v1/statements/${randomUUID()}/pdf`,
    ...noStatement,
  },
};

const { paths } = openApiDocument({ sandbox: true }) as unknown as {
  paths: Record<string, Record<string, unknown>>;
};
const documented = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);

let database: TestDatabase;
let gateway: Gateway;
let owner: Payer;
let other: Payer;
let appends = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const memory = memoryEventStore();
  const append: EventStore['append'] = (...args) => {
    appends += 1;
    return memory.append(...args);
  };
  gateway = await startGateway({
    databaseUrl: database.url,
    store: { ...memory, append },
    // No server listens at the endpoint of the test operation.
    changes: { PIS_WEBHOOK_TIMEOUT_MS: 20 },
  });
  owner = await createPayer(gateway);
  await signLog(gateway);
  other = await createPayer(gateway);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

it('every operation has a row in this file, and every row is an operation', () => {
  expect(Object.keys(rows).toSorted()).toEqual(documented.toSorted());
});

describe.each(Object.entries(rows))('%s', (operation, row) => {
  const [method = '', template = ''] = operation.split(' ');
  const prepare = async () => ({
    path: row.path ? await row.path(owner) : template,
    call: {
      method: method as NonNullable<Call['method']>,
      headers: { 'idempotency-key': randomUUID() },
      ...(row.body ? { body: row.body(owner) } : {}),
    },
  });
  const withKey = async (key: string | null): Promise<Reply> => {
    const { path, call } = await prepare();
    return gateway.call(path, { tenant: owner.tenant, key, ...call });
  };
  const may: Readonly<Record<ApiKeyType, boolean>> = {
    full_access: true,
    read_only: method === 'GET' || row.isRead === true,
    webhook_admin: template.startsWith('/v1/webhooks'),
  };

  it.each(Object.entries(may))('by a %s key: %s', async (type, allowed) => {
    const reply = await withKey(owner.tenant.keys[type as ApiKeyType]);
    if (allowed) expect([reply.status, reply.body]).toEqual([row.success, reply.body]);
    else expect(codeOf(reply)).toBe('403 FORBIDDEN');
  });

  it('by an invalid key: 401, and nothing happens', async () => {
    for (const [what, key] of Object.entries(await badKeys())) {
      const { path, call } = await prepare();
      const before = appends;
      const reply = await gateway.call(path, { tenant: owner.tenant, key, ...call });
      expect([what, codeOf(reply)]).toEqual([what, '401 UNAUTHORIZED']);
      expect(reply.headers['www-authenticate']).toBe('Bearer');
      expect(appends).toBe(before);
    }
  });

  it('by another organization: it sees nothing of this one', async () => {
    const { foreign = 404 } = row;
    for (const type of Object.keys(may) as ApiKeyType[]) {
      if (!may[type]) continue;
      const { path, call } = await prepare();
      const before = appends;
      const reply = await gateway.call(path, {
        tenant: other.tenant,
        key: other.tenant.keys[type],
        ...call,
      });
      expect([type, reply.status]).toEqual([type, foreign]);
      if (foreign === 404) {
        expect(codeOf(reply)).toBe('404 NOT_FOUND');
        expect(appends).toBe(before);
      }
      const ours = [owner.tenant.originatorId, owner.tenant.organizationId, owner.contactId];
      for (const id of ours) expect(JSON.stringify(reply.body)).not.toContain(id);
    }
  });
});

/** Invalid keys, by what is wrong with them. */
let made: Promise<Readonly<Record<string, string | null>>> | undefined;
function badKeys() {
  return (made ??= (async () => {
    const { organizationId } = owner.tenant;
    const context = { store: gateway.store, by };
    const type = 'full_access' as const;
    const revoked = unrefused(
      await createApiKey(context, { organizationId, type, environment: 'sandbox' }),
    );
    unrefused(await revokeApiKey(context, { digest: digestOfApiKey(revoked.apiKey) }));
    const expiresAt = new Date(Date.now() + 50).toISOString();
    const sandbox = { organizationId, type, environment: 'sandbox' } as const;
    const expired = unrefused(await createApiKey(context, { ...sandbox, expiresAt }));
    await until(() => new Date().toISOString() > expiresAt, { timeoutMs: 60_000 });
    const live = unrefused(await createApiKey(context, { ...sandbox, environment: 'production' }));
    const good = owner.tenant.keys.full_access;
    return {
      missing: null,
      empty: '',
      malformed: 'nonsense',
      unknown: `pis_test_${'x'.repeat(43)}`,
      revoked: revoked.apiKey,
      expired: expired.apiKey,
      'of the other environment': live.apiKey,
      'with the prefix of this one': live.apiKey.replace('pis_live_', 'pis_test_'),
      'cut short': good.slice(0, -1),
      'in another case': good.toUpperCase(),
      'with more behind it': `${good}x`,
      'given twice': `${good}, Bearer ${good}`,
    };
  })());
}

describe('lists', () => {
  it('stay empty for another organization, whichever of our values it filters by', async () => {
    const key = randomUUID();
    const paymentId = idOf(await owner.pay({ key }));
    expect(JSON.stringify((await owner.list()).body)).toContain(paymentId);
    const { originatorId } = owner.tenant;
    const { contactId } = owner;
    for (const path of [
      `/v1/payments/?originatorId=${originatorId}`,
      `/v1/payments/?contactId=${contactId}`,
      `/v1/payments/?idempotencyKey=${key}`,
      `/v1/contacts/?originatorId=${originatorId}`,
      `/v1/statements?originatorId=${originatorId}`,
    ]) {
      const reply = await gateway.call(path, { tenant: other.tenant });
      expect([path, reply.status, reply.body?.data]).toEqual([path, 200, []]);
    }
  });
});

describe('a payment', () => {
  it('cannot mix records of two organizations', async () => {
    const mixed = [
      owner.body({ contactId: other.contactId }),
      owner.body({ originatorId: other.tenant.originatorId }),
    ];
    for (const body of mixed)
      for (const payer of [owner, other])
        expect(codeOf(await payer.pay({ body }))).toBe('404 NOT_FOUND');
  });
});

it('a key that is revoked during use is refused soon', async () => {
  const { organizationId } = owner.tenant;
  const context = { store: gateway.store, by };
  const options = { organizationId, type: 'full_access', environment: 'sandbox' } as const;
  const { apiKey } = unrefused(await createApiKey(context, options));
  const ask = () => gateway.call('/v1/webhooks', { tenant: owner.tenant, key: apiKey });
  expect((await ask()).status).toBe(200);
  unrefused(await revokeApiKey(context, { digest: digestOfApiKey(apiKey) }));
  await until(async () => (await ask()).status === 401, { timeoutMs: 60_000 });
  expect(codeOf(await ask())).toBe('401 UNAUTHORIZED');
});
