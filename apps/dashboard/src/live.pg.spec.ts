import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { RateLimited } from '@pis/http-api';
import { until } from '@pis/local-servers/testing';
import { projections, ProjectionRunner } from '@pis/read-models';
import { apiPath } from './routes.js';
import { liveLimits, LiveStreams } from './live/live-streams.js';
import { type Board, by, startBoard } from './testing/board.js';

let board: Board;
let runner: ProjectionRunner;
let address: string;
beforeAll(async () => {
  board = await startBoard();
  const { store, pool } = board;
  runner = new ProjectionRunner({ projection: projections.payments, store, pool });
  await board.app.listen(0, '127.0.0.1');
  const { port } = board.app.getHttpServer().address() as AddressInfo;
  address = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await runner?.stop();
  await board?.close();
});

interface Live {
  readonly status: number;
  readonly type: string | null;
  /** What came so far. */
  text(): string;
  isOver(): boolean;
  close(): void;
}

async function live(cookie: string): Promise<Live> {
  const closing = new AbortController();
  const response = await fetch(`${address}${apiPath}/live`, {
    headers: { cookie },
    signal: closing.signal,
  });
  let text = '';
  let over = false;
  const { body } = response;
  const read = async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      // Broken off by the server, or closed by the test.
    }
    over = true;
  };
  void read();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    text: () => text,
    isOver: () => over,
    close: () => closing.abort(),
  };
}

async function tenant() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const user = await board.newUser('operator', organizationId);
  return { organizationId, originatorId, user, cookie: await board.signedIn(user) };
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
  if (reply.status !== 200) throw new Error(reply.text);
  return (reply.body.data as { paymentId: string }).paymentId;
}

const soon = { timeoutMs: 60_000 };

it('follows a payment that began before the reader and is not in the list yet', async () => {
  const { originatorId, cookie } = await tenant();
  const paymentId = await requestMoney(originatorId, cookie);
  const open = await live(cookie);
  await until(() => open.text().includes('event: refresh'), soon);
  await board.call(`/payments/${paymentId}/cancel`, { method: 'POST', cookie });
  await until(() => open.text().includes('CANCELED'), soon);
  open.close();
});

it('tells an open dashboard which payment has which status, and nobody else', async () => {
  runner.start();
  const [mine, other] = [await tenant(), await tenant()];
  const early = await requestMoney(mine.originatorId, mine.cookie);
  const [open, foreign] = [await live(mine.cookie), await live(other.cookie)];
  expect([open.status, open.type]).toEqual([200, 'text/event-stream']);
  await until(() => open.text().includes('event: refresh'), soon);
  await until(() => foreign.text().includes('event: refresh'), soon);

  const late = await requestMoney(mine.originatorId, mine.cookie);
  await board.call(`/payments/${early}/cancel`, { method: 'POST', cookie: mine.cookie });
  await until(() => open.text().includes(early), soon);
  const changes = [...open.text().matchAll(/event: payments\ndata: (.*)\n\n/g)].flatMap(
    ([, data = '']) => JSON.parse(data) as unknown[],
  );
  expect(changes).toEqual([
    { paymentId: late, type: 'payment.awaiting_confirmation', status: 'AWAITING_CONFIRMATION' },
    { paymentId: early, type: 'payment.canceled', status: 'CANCELED' },
  ]);
  const list = await board.call('/payments?status=CANCELED', { cookie: mine.cookie });
  expect((list.body.data as unknown[]).length).toBe(1);

  await requestMoney(other.originatorId, other.cookie);
  await until(() => foreign.text().includes('event: payments'), soon);
  for (const id of [early, late]) expect(foreign.text()).not.toContain(id);
  open.close();
  foreign.close();
  const streams = board.app.get(LiveStreams);
  await until(() => streams.size === 0, soon);
});

it('ends with the session: after signing out, and for a user who was disabled', async () => {
  const { user, cookie } = await tenant();
  const second = await board.signedIn(user);
  const [first, other] = [await live(cookie), await live(second)];
  await board.call('/sign-out', { method: 'POST', cookie });
  await until(() => first.isOver(), { timeoutMs: 60_000 });
  expect(other.isOver()).toBe(false);
  await board.users.disable(user, by);
  await until(() => other.isOver(), soon);
  expect((await live(second)).status).toBe(401);
});

it('refuses strangers, and more than ten of one user', async () => {
  expect((await live('')).status).toBe(401);
  const { cookie } = await tenant();
  const open = await Promise.all(Array.from({ length: 10 }, () => live(cookie)));
  expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await live(cookie)).status).toBe(429);
  open[0]?.close();
  await until(async () => {
    const again = await live(cookie);
    again.close();
    return again.status === 200;
  }, soon);
  for (const one of open) one.close();
});

it('leaves room for other organizations, however many users one has', async () => {
  const streams = board.app.get(LiveStreams);
  const openOf = (organizationId: string) =>
    streams.open({ organizationId, userId: randomUUID(), token: randomUUID() });
  const [crowd, other] = [randomUUID(), randomUUID()];
  const open = Array.from({ length: liveLimits.perOrganizationMax }, () => openOf(crowd));
  expect(() => openOf(crowd)).toThrow(RateLimited);
  open.push(openOf(other));
  for (const answer of open) answer.destroy();
  await until(() => streams.size === 0, soon);
});

it('leaves room for other organizations, however many users four have', async () => {
  const streams = board.app.get(LiveStreams);
  const openOf = (organizationId: string) =>
    streams.open({ organizationId, userId: randomUUID(), token: randomUUID() });
  const open: ReturnType<typeof openOf>[] = [];
  const openAll = (organizationId: string) => {
    const before = open.length;
    for (let n = 0; n < liveLimits.perOrganizationMax; n += 1)
      try {
        open.push(openOf(organizationId));
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error;
      }
    return open.length - before;
  };
  const counts = Array.from({ length: 4 }, () => openAll(randomUUID()));
  expect(counts).toEqual([250, 250, 250, 10]);
  expect(openAll(randomUUID())).toBe(10);
  for (const answer of open) answer.destroy();
  await until(() => streams.size === 0, soon);
});

it('has browsers come back at different moments', async () => {
  const { cookie } = await tenant();
  const open = await Promise.all(Array.from({ length: 10 }, () => live(cookie)));
  await until(() => open.every((one) => one.text().startsWith('retry: ')), soon);
  const retries = open.map((one) => Number(/^retry: (\d+)/.exec(one.text())?.[1]));
  expect(new Set(retries).size).toBeGreaterThan(1);
  expect(Math.min(...retries)).toBeGreaterThanOrEqual(1_000);
  for (const one of open) one.close();
});
