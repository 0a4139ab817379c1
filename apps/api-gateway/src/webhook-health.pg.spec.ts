import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { poolOf } from './testing/deliveries.js';
import {
  type Gateway,
  type Reply,
  startGateway,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';
import { codeOf } from './testing/payments.js';
import { WebhookHealth } from './webhook-health.js';

let gateway: Gateway;
let tenant: Tenant;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase({ projects: false });
});
afterAll(async () => {
  await gateway?.close();
});
beforeEach(async () => {
  tenant = await gateway.createTenant();
});

interface Endpoint {
  readonly id: string;
  readonly health: string | null;
  readonly failingSince: string | null;
}
const body = { url: 'https://203.0.113.7/', subscribedEvents: ['payment.failed'] };
const created = (on = gateway, by = tenant) =>
  on.call('/v1/webhooks', { tenant: by, method: 'POST', body });
const endpointOf = (reply: Reply) => reply.body?.data as Endpoint;
const failed = (endpointId: string, hours: number, organizationId = tenant.organizationId) =>
  poolOf(gateway).query(
    `INSERT INTO webhook_endpoint_failures (endpoint_id, organization_id, failing_since, last_failed_at)
      VALUES ($1, $2, $3, $3::timestamptz + $4 * interval '1 hour')`,
    [endpointId, organizationId, since, hours],
  );
const since = '2026-11-21T09:00:00.123Z';

/** The endpoint as each of the reads shows it. */
async function readings(id: string): Promise<readonly Endpoint[]> {
  const path = `/v1/webhooks/${id}`;
  const list = await gateway.call('/v1/webhooks', { tenant });
  const listed = (list.body?.data as Endpoint[]).find((endpoint) => endpoint.id === id);
  const got = endpointOf(await gateway.call(path, { tenant }));
  const patched = endpointOf(await gateway.call(path, { tenant, method: 'PATCH', body: {} }));
  if (listed === undefined) throw new Error('it is not in the list');
  return [listed, got, patched];
}

describe('The owner of an endpoint reads', () => {
  it.each([
    ['healthy, when nothing failed', null, { health: 'healthy', failingSince: null }],
    ['degraded, and since when', 0, { health: 'degraded', failingSince: since }],
    ['degraded, until a day is over', 23.99, { health: 'degraded', failingSince: since }],
    ['failing after a day, and since when', 24, { health: 'failing', failingSince: since }],
  ])('that it is %s', async (_what, hours, expected) => {
    const answer = await created();
    expect(endpointOf(answer)).toMatchObject({ health: 'healthy', failingSince: null });
    const { id } = endpointOf(answer);
    if (hours !== null) await failed(id, hours);
    for (const reading of await readings(id)) expect(reading).toMatchObject(expected);
  });

  it('nothing about the endpoints of others', async () => {
    const { id } = endpointOf(await created());
    await failed(id, 48, randomUUID());
    for (const reading of await readings(id)) expect(reading).toMatchObject({ health: 'healthy' });
  });

  it('and changes the endpoint while the delivery tables are unavailable, but not its health', async () => {
    const lonely = await startGateway({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      projects: false,
    });
    try {
      const owner = await lonely.createTenant();
      const { id } = endpointOf(await created(lonely, owner));
      const path = `/v1/webhooks/${id}`;
      const unknown = { health: null, failingSince: null };
      const patched = await lonely.call(path, {
        tenant: owner,
        method: 'PATCH',
        body: { enabled: false },
      });
      expect(codeOf(patched)).toBe('200');
      expect(endpointOf(patched)).toMatchObject({ ...unknown, enabled: false });
      expect(endpointOf(await lonely.call(path, { tenant: owner }))).toMatchObject(unknown);
    } finally {
      await lonely.close();
    }
  });
});

it('The endpoints of an organization are listed a few at a time, and others are answered meanwhile', async () => {
  const [requests, atOnceMax] = [20, 3];
  const other = await gateway.createTenant();
  const health = gateway.app.get(WebhookHealth);
  const viewsOf = health.viewsOf.bind(health);
  const waiting: (() => void)[] = [];
  let isOpen = false;
  health.viewsOf = async (organizationId, endpoints) => {
    if (!isOpen && organizationId === tenant.organizationId)
      await new Promise<void>((resolve) => waiting.push(resolve));
    return viewsOf(organizationId, endpoints);
  };
  const listed = (by: Tenant) => gateway.call('/v1/webhooks', { tenant: by });
  const asked = Array.from({ length: requests }, () => listed(tenant));
  try {
    await until(() => waiting.length >= atOnceMax, { timeoutMs: 30_000 });
    for (let calls = 0; calls < requests; calls += 1)
      expect(codeOf(await listed(other))).toBe('200');
    expect(waiting.length).toBe(atOnceMax);
  } finally {
    isOpen = true;
    for (const release of waiting) release();
    health.viewsOf = viewsOf;
  }
  expect(new Set((await Promise.all(asked)).map(codeOf))).toEqual(new Set(['200']));
});
