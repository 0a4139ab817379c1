import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { projections } from '@pis/read-models';
import type { Overview } from './operations/overview.js';
import { type Board, startBoard } from './testing/board.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard({ projections: [projections.figures] });
});
afterAll(() => board?.close());

async function tenant() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const cookieOf = async (role: 'viewer' | 'admin') =>
    board.signedIn(await board.newUser(role, organizationId));
  return {
    originatorId,
    organizationId,
    viewer: await cookieOf('viewer'),
    admin: await cookieOf('admin'),
  };
}

async function requestMoney(originatorId: string, cookie: string): Promise<string> {
  const reply = await board.call('/payments', {
    method: 'POST',
    cookie,
    body: {
      originatorId,
      direction: 'INBOUND',
      recipient: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
      paymentAmount: 10_000,
      idempotencyKey: randomUUID(),
    },
  });
  return (reply.body.data as { paymentId: string }).paymentId;
}

const overviewOf = async (cookie: string, query = '') => {
  const reply = await board.call(`/overview${query}`, { cookie });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body.data as Overview;
};

it('shows an organization its figures of today, and what waits for somebody', async () => {
  const [mine, other] = [await tenant(), await tenant()];
  const today = new Date().toISOString().slice(0, 10);
  const canceled = await requestMoney(mine.originatorId, mine.admin);
  await requestMoney(mine.originatorId, mine.admin);
  await board.call(`/payments/${canceled}/cancel`, { method: 'POST', cookie: mine.admin });
  const seen = await until(
    async () => {
      const overview = await overviewOf(mine.viewer, '?days=7');
      const [first] = overview.volume;
      return first?.payments === 2 && overview.awaitingPayer.payments === 1 && overview;
    },
    { timeoutMs: 60_000 },
  );
  expect(seen).toMatchObject({
    to: today,
    volume: [{ day: today, direction: 'INBOUND', payments: 2, amount: 20_000 }],
    awaitingPayer: { payments: 1, amount: 10_000 },
    expiredLinks: 0,
    inDoubt: { payments: 0, amount: 0 },
    rails: [],
    failingEndpoints: [],
  });
  expect(Date.parse(seen.to) - Date.parse(seen.from)).toBe(6 * 86_400_000);
  expect((await overviewOf(other.admin)).volume).toEqual([]);
});

it('names the endpoints that fail, with the time since', async () => {
  const { organizationId, admin, viewer } = await tenant();
  const created = await board.call('/webhooks', {
    method: 'POST',
    cookie: admin,
    body: { url: 'https://203.0.113.9/hook', subscribedEvents: ['payment.*'] },
  });
  const { id } = created.body.data as { id: string };
  await board.pool.query(
    `INSERT INTO webhook_endpoint_failures (endpoint_id, organization_id, failing_since, last_failed_at)
      VALUES ($1, $2, '2026-11-20T00:00:00Z', '2026-11-22T00:00:00Z')`,
    [id, organizationId],
  );
  expect((await overviewOf(viewer)).failingEndpoints).toEqual([
    {
      webhookId: id,
      url: 'https://203.0.113.9/hook',
      health: 'failing',
      failingSince: '2026-11-20T00:00:00.000Z',
    },
  ]);
});

it('has periods of 7, 30 and 90 days, and a session', async () => {
  const { viewer } = await tenant();
  expect((await board.call('/overview?days=8', { cookie: viewer })).status).toBe(400);
  expect((await board.call('/overview')).status).toBe(401);
});
