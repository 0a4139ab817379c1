import { randomUUID } from 'node:crypto';
import { createApiKey, unrefused } from '@pis/commands';
import { paymentEventTypes } from '@pis/domain';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import { by, type Call, type Gateway, startGateway, type Tenant } from './testing/gateway.js';

const timeoutMs = 60_000;

let database: TestDatabase;
let receiver: HttpsReceiver;
let gateway: Gateway;
let tenant: Tenant;
let endpoint: { readonly id: string; readonly secret: string; readonly url: string };

beforeAll(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startHttpsReceiver()]);
  gateway = await startGateway({
    databaseUrl: database.url,
    projects: false,
    changes: {
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      PIS_WEBHOOK_TIMEOUT_MS: 5_000,
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await receiver?.close();
  await database?.drop();
});
beforeEach(async () => {
  tenant = await gateway.createTenant();
  receiver.respondWith(() => ({}));
  endpoint = await createEndpoint(`${receiver.url}/${randomUUID()}`);
});

const call = (path: string, options: Call = {}) => gateway.call(path, { tenant, ...options });
const test = (body?: unknown, options: Call = {}) =>
  call(`/v1/webhooks/${endpoint.id}/test`, { method: 'POST', body, ...options });

async function createEndpoint(url: string) {
  const body = { url, subscribedEvents: ['statement.generated'] };
  const reply = await call('/v1/webhooks', { method: 'POST', body });
  return reply.body?.data as { id: string; secret: string; url: string };
}

function received() {
  const request = receiver.requests.at(-1);
  if (request === undefined) throw new Error('nothing was received');
  const envelope = JSON.parse(request.body) as Record<string, unknown> & {
    data: Record<string, unknown>;
  };
  return { request, envelope };
}

describe('a test of a webhook endpoint', () => {
  it('delivers a signed TEST event, whatever the subscriptions, also to a disabled endpoint', async () => {
    await call(`/v1/webhooks/${endpoint.id}`, { method: 'PATCH', body: { enabled: false } });
    for (const body of [{}, { eventType: null }, undefined]) {
      const reply = await test(body);
      expect(reply.status).toBe(200);
      expect(reply.body?.data).toEqual({
        success: true,
        statusCode: 200,
        error: null,
        durationMs: expect.any(Number) as number,
      });
      const { request, envelope } = received();
      expect(verify(request.body, request.headers, endpoint.secret, new Date())).toBe(true);
      expect(request.headers['x-webhook-event']).toBe('TEST');
      expect(envelope).toMatchObject({ version: '1', eventType: 'TEST', synthetic: true });
      expect(envelope.data).toEqual(expect.any(Object));
    }
  });

  it.each(paymentEventTypes)('delivers a synthetic %s like a real one', async (eventType) => {
    expect((await test({ eventType })).body?.data).toMatchObject({ success: true });
    const { request, envelope } = received();
    const { data } = envelope;
    expect(request.headers['x-webhook-event']).toBe(eventType);
    expect(envelope).toMatchObject({ eventType, synthetic: true });
    expect(`payment.${String(data['status']).toLowerCase()}`).toBe(eventType);
    const isFailed = eventType === 'payment.failed';
    expect(data['failureCode'] !== null).toBe(isFailed);
    expect(data['failureReason'] !== null).toBe(
      isFailed || eventType === 'payment.failed_in_flight',
    );
    expect(data['returnReasonCode'] !== null).toBe(eventType === 'payment.returned');
    const created = ['payment.queued', 'payment.awaiting_confirmation'].includes(eventType);
    expect(data['previousStatus'] === null).toBe(created);
    const before = ['payment.awaiting_confirmation', 'payment.canceled'].includes(eventType);
    const contact = data['contact'] as Record<string, unknown>;
    expect(contact['bankAccount'] === null).toBe(before);
  });

  it('reports the answer of the endpoint, or the error', async () => {
    const answers = [
      [{ status: 404 }, { statusCode: 404, error: 'the endpoint answered 404' }],
      [{ redirect: receiver.url }, { statusCode: 302, error: 'the endpoint answered 302' }],
      [{ cut: true }, { statusCode: null, error: expect.any(String) as string }],
      [{ hang: true }, { statusCode: null, error: 'no response within 5000 ms' }],
    ] as const;
    for (const [scripted, result] of answers) {
      receiver.respondWith(() => scripted);
      const sent = receiver.requests.length;
      const reply = await test({});
      expect([reply.status, reply.body?.data]).toEqual([
        200,
        { success: false, durationMs: expect.any(Number) as number, ...result },
      ]);
      // If a reused connection breaks, the request is sent once more on a new one.
      expect(receiver.requests.length - sent).toBeLessThanOrEqual('cut' in scripted ? 2 : 1);
    }
  });

  it('fails when the host of the endpoint does not exist', async () => {
    endpoint = await createEndpoint('https://does-not-resolve.invalid/');
    expect((await test({})).body?.data).toMatchObject({ success: false, statusCode: null });
  });

  it.each(['payment.*', 'statement.generated', 'TEST', 'payment.nope', ''])(
    'refuses "%s"',
    async (eventType) => {
      const reply = await test({ eventType });
      expect(reply.status).toBe(400);
      expect(reply.body?.error?.details).toMatchObject([
        { field: 'eventType', issue: 'validation_event_type' },
      ]);
    },
  );

  it('needs an endpoint of the organization and a key that may change it', async () => {
    const { keys } = tenant;
    expect((await test({}, { key: keys.read_only })).status).toBe(403);
    expect((await test({}, { key: keys.webhook_admin })).status).toBe(200);
    tenant = await gateway.createTenant();
    expect((await test({})).status).toBe(404);
    endpoint = { ...endpoint, id: 'nonsense' };
    expect((await test({})).body?.error?.details).toMatchObject([{ field: 'id' }]);
  });
});

describe('tests that are under way', () => {
  const perKeyMax = 10;
  const inAllMax = 100;

  /** Sends `count` tests of one tenant, and records each status when it arrives. */
  function sendTests(of: Tenant, endpointId: string, count: number, statuses: number[]) {
    return Array.from({ length: count }, async () => {
      const path = `/v1/webhooks/${endpointId}/test`;
      const { status, headers } = await gateway.call(path, {
        tenant: of,
        method: 'POST',
        body: {},
      });
      if (status !== 200) expect(headers['retry-after']).toMatch(/^\d+$/);
      statuses.push(status);
    });
  }

  it('are limited for each API key: more are refused with 429 until some end', async () => {
    const answered = Promise.withResolvers<void>();
    receiver.respondWith(() => ({ after: answered.promise }));
    const more = 15;
    const statuses: number[] = [];
    const sent = sendTests(tenant, endpoint.id, perKeyMax + more, statuses);
    await until(() => statuses.length === more, { timeoutMs });
    expect(new Set(statuses)).toEqual(new Set([429]));
    answered.resolve();
    await Promise.all(sent);
    expect(statuses.filter((status) => status === 200)).toHaveLength(perKeyMax);
    expect((await test({})).status).toBe(200);
  });

  it('are limited for all keys of an organization together, so that others can test', async () => {
    const answered = Promise.withResolvers<void>();
    receiver.respondWith(() => ({ after: answered.promise }));
    const [organizationMax, keys] = [20, inAllMax / perKeyMax];
    const statuses: number[] = [];
    const sent: Promise<void>[] = [];
    for (let key = 0; key < keys; key += 1) {
      const { organizationId } = tenant;
      const data = { organizationId, type: 'full_access', environment: 'sandbox' } as const;
      const { apiKey } = unrefused(await createApiKey({ store: gateway.store, by }, data));
      const of = { ...tenant, keys: { ...tenant.keys, full_access: apiKey } };
      sent.push(...sendTests(of, endpoint.id, perKeyMax, statuses));
    }
    const refused = keys * perKeyMax - organizationMax;
    await until(() => statuses.length === refused, { timeoutMs });
    expect(new Set(statuses)).toEqual(new Set([429]));
    answered.resolve();
    await Promise.all(sent);
    expect(statuses.filter((status) => status === 200)).toHaveLength(organizationMax);
    expect((await test({})).status).toBe(200);
  });

  it('do not keep a test of another organization at the same host waiting', async () => {
    const answered = Promise.withResolvers<void>();
    const { pathname } = new URL(endpoint.url);
    receiver.respondWith(({ path }) => (path === pathname ? { after: answered.promise } : {}));
    const sent = sendTests(tenant, endpoint.id, perKeyMax, []);
    tenant = await gateway.createTenant();
    endpoint = await createEndpoint(`${receiver.url}/${randomUUID()}`);
    expect((await test({})).body?.data).toMatchObject({ success: true });
    answered.resolve();
    await Promise.all(sent);
  });

  it('of several organizations leave one to another organization', async () => {
    const answered = Promise.withResolvers<void>();
    receiver.respondWith(() => ({ after: answered.promise }));
    const statuses: number[] = [];
    const sent: Promise<void>[] = [];
    for (let keys = 0; keys < inAllMax / perKeyMax; keys += 1) {
      tenant = await gateway.createTenant();
      endpoint = await createEndpoint(`${receiver.url}/${randomUUID()}`);
      sent.push(...sendTests(tenant, endpoint.id, perKeyMax, statuses));
    }
    tenant = await gateway.createTenant();
    endpoint = await createEndpoint(`${receiver.url}/${randomUUID()}`);
    const last = test({});
    const path = new URL(endpoint.url).pathname;
    await receiver.waitFor((request) => request.path === path, { timeoutMs });
    answered.resolve();
    expect((await last).status).toBe(200);
    await Promise.all(sent);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });

  it('are limited in total: more are refused with 503 until some end', async () => {
    const answered = Promise.withResolvers<void>();
    receiver.respondWith(() => ({ after: answered.promise }));
    const statuses: number[] = [];
    const sent: Promise<void>[] = [];
    for (let keys = 0; keys <= inAllMax / perKeyMax; keys += 1) {
      tenant = await gateway.createTenant();
      endpoint = await createEndpoint(`${receiver.url}/${randomUUID()}`);
      sent.push(...sendTests(tenant, endpoint.id, perKeyMax, statuses));
    }
    await until(() => statuses.includes(503), { timeoutMs });
    answered.resolve();
    await Promise.all(sent);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await test({})).status).toBe(200);
  });
});
