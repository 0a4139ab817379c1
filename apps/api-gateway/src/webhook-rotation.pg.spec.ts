import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  type TestDatabase,
} from '@pis/local-servers/testing';
import { sign, verify } from '@pis/webhooks';
import { type Call, type Gateway, startGateway, type Tenant } from './testing/gateway.js';

let database: TestDatabase;
let receiver: HttpsReceiver;
let gateway: Gateway;
let tenant: Tenant;
let endpoint: { readonly id: string; readonly secret: string };

beforeAll(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startHttpsReceiver()]);
  gateway = await startGateway({
    databaseUrl: database.url,
    projects: false,
    changes: {
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
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
  const body = { url: `${receiver.url}/${randomUUID()}`, subscribedEvents: ['payment.*'] };
  const reply = await call('/v1/webhooks', { method: 'POST', body });
  endpoint = reply.body?.data as typeof endpoint;
});

const call = (path: string, options: Call = {}) => gateway.call(path, { tenant, ...options });
const rotate = (body?: unknown, options: Call = {}) =>
  call(`/v1/webhooks/${endpoint.id}/rotate-secret`, { method: 'POST', body, ...options });
const hourMs = 3_600_000;

interface Rotated {
  readonly secret: string;
  readonly updatedAt: string;
  readonly previousSecretEndsAt: string | null;
}

async function testDelivery() {
  await call(`/v1/webhooks/${endpoint.id}/test`, { method: 'POST', body: {} });
  const request = receiver.requests.at(-1);
  if (request === undefined) throw new Error('nothing was received');
  const { body, headers } = request;
  const timestamp = String(headers['x-webhook-timestamp']);
  return {
    verifiedBy: (secret: string) => verify(body, headers, secret, new Date()),
    previous: headers['x-webhook-signature-256-previous'],
    signedBy: (secret: string) => sign(secret, timestamp, body),
  };
}

describe('the rotation of a webhook secret', () => {
  it('returns a new secret once, and deliveries have both signatures for a day', async () => {
    const reply = await rotate();
    expect(reply.status).toBe(200);
    const { secret, updatedAt, previousSecretEndsAt } = reply.body?.data as Rotated;
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(secret).not.toBe(endpoint.secret);
    expect(Date.parse(String(previousSecretEndsAt)) - Date.parse(updatedAt)).toBe(24 * hourMs);
    const shown = JSON.stringify((await call(`/v1/webhooks/${endpoint.id}`)).body);
    expect(shown).not.toContain(secret);
    expect(shown).not.toMatch(/secret/i);

    const delivery = await testDelivery();
    expect(delivery.verifiedBy(secret)).toBe(true);
    expect(delivery.previous).toBe(delivery.signedBy(endpoint.secret));
  });

  it('with an overlap of 0 ends the old secret at once', async () => {
    const reply = await rotate({ overlapHours: 0 });
    const { secret, previousSecretEndsAt } = reply.body?.data as Rotated;
    expect(previousSecretEndsAt).toBeNull();
    const delivery = await testDelivery();
    expect(delivery.verifiedBy(secret)).toBe(true);
    expect(delivery.previous).toBeUndefined();
  });

  it('a second time inside the overlap drops the secret before the last', async () => {
    const { secret: second } = (await rotate({ overlapHours: 72 })).body?.data as Rotated;
    const { secret: third } = (await rotate({ overlapHours: null })).body?.data as Rotated;
    const delivery = await testDelivery();
    expect(delivery.verifiedBy(third)).toBe(true);
    expect(delivery.previous).toBe(delivery.signedBy(second));
  });

  it.each([
    [-1, 'validation_min'],
    [73, 'validation_max'],
    [1.5, 'validation_integer'],
    ['24', 'validation_type'],
  ])('is refused for an overlap of %j', async (overlapHours, issue) => {
    const reply = await rotate({ overlapHours });
    expect(reply.status).toBe(400);
    expect(reply.body?.error?.details).toMatchObject([{ field: 'overlapHours', issue }]);
  });

  it('needs an endpoint of the organization and a key that may change it', async () => {
    expect((await rotate({}, { key: tenant.keys.read_only })).status).toBe(403);
    expect((await rotate({}, { key: tenant.keys.webhook_admin })).status).toBe(200);
    tenant = await gateway.createTenant();
    expect((await rotate({})).status).toBe(404);
  });
});
