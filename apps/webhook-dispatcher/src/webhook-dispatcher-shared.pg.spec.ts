import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import type { PaymentIntegrationEvent } from '@pis/contracts';
import { until } from '@pis/local-servers/testing';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
} from './testing/dispatcher-fixture.js';
import type { ProcessOptions, Reply, Request } from './testing/dispatcher-process.js';

jest.setTimeout(60_000);

const timeoutMs = 30_000;
/** Built by `npm test`: a child process knows nothing of the test's transformer. */
const program = fileURLToPath(new URL('../dist/testing/dispatcher-process.js', import.meta.url));
const attemptTimeoutMs = 2_000;
const limits = { leaseMs: 5_000, beginWithinMs: 1_000, pollMaxMs: 50 };

class DispatcherProcess {
  readonly handled = new Set<string>();
  readonly owner = randomUUID();
  private readonly child: ChildProcess = fork(program, { execArgv: [] });
  private isStarted = false;

  constructor(options: Omit<ProcessOptions, 'owner'>) {
    this.child.on('message', (reply: Reply) => {
      if ('started' in reply) this.isStarted = true;
      else if ('handled' in reply) this.handled.add(reply.handled);
    });
    this.send({ start: { ...options, owner: this.owner } });
  }

  async started(): Promise<void> {
    await until(() => this.isStarted, { timeoutMs, what: 'a dispatcher of its own' });
  }

  handle(event: PaymentIntegrationEvent): void {
    this.send({ handle: event });
  }

  async kill(): Promise<void> {
    if (this.child.signalCode !== null || this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private send(request: Request): void {
    this.child.send(request);
  }
}

describe('Three dispatchers that are processes of their own', () => {
  let fixture: DispatcherFixture;
  let processes: DispatcherProcess[];
  beforeEach(async () => {
    fixture = await dispatcherFixture({ isShared: true });
    const { databaseUrl, receiver } = fixture;
    const config = { ...testConfig, PIS_WEBHOOK_TIMEOUT_MS: attemptTimeoutMs };
    processes = [1, 2, 3].map(
      () => new DispatcherProcess({ databaseUrl, config, extraCaPem: receiver.caPem, limits }),
    );
    await Promise.all(processes.map((one) => one.started()));
  });
  afterEach(async () => {
    await Promise.all(processes.map((one) => one.kill()));
    await fixture.close();
  });

  const events = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        fixture.paymentEvent({ occurredAt: new Date().toISOString() }),
      ),
    );
  const untilDelivered = (count: number) =>
    until(
      async () => {
        const [row] = await fixture.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM webhook_delivery_records WHERE state = 'delivered'`,
        );
        return row?.n === count;
      },
      { timeoutMs, what: `${count} delivered` },
    );
  /** How often each delivery was received. */
  const receipts = () => {
    const counts = new Map<string, number>();
    for (const { headers } of fixture.receiver.requests) {
      const id = String(headers['x-webhook-delivery']);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };

  it('send each delivery once, also when each of them is told of each event', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint();
    for (const event of await events(150)) for (const one of processes) one.handle(event);
    await untilDelivered(300);
    await until(() => processes.every(({ handled }) => handled.size === 150), { timeoutMs });
    expect([...receipts().values()]).toEqual(Array.from({ length: 300 }, () => 1));
  });

  it('of which one is killed lose nothing: only what it was at may come twice, with the same id and body', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ delayMs: 40 }));
    const all = await events(300);
    const [victim, ...survivors] = processes;
    if (!victim) throw new Error('no victim');
    all.forEach((event, index) => processes[index % 3]?.handle(event));
    await until(() => fixture.receiver.requests.length > 100, { timeoutMs });
    await victim.kill();
    const leased = await fixture.query<{ id: string }>(
      'SELECT id FROM webhook_deliveries WHERE lease_owner = $1',
      [victim.owner],
    );
    const atIt = new Set(leased.map(({ id }) => id));
    expect(atIt.size).toBeGreaterThan(0);

    // What it had not acknowledged the broker gives to the others.
    all
      .filter((event, index) => index % 3 === 0 && !victim.handled.has(event.eventId))
      .forEach((event, index) => survivors[index % 2]?.handle(event));
    await untilDelivered(600);

    const counts = receipts();
    expect(counts.size).toBe(600);
    for (const [id, count] of counts)
      if (count > 1)
        expect({ id, count, wasAtIt: atIt.has(id) }).toEqual({ id, count: 2, wasAtIt: true });
    const bodies = new Map<string, string>();
    for (const { headers, body } of fixture.receiver.requests) {
      const id = String(headers['x-webhook-delivery']);
      expect(bodies.get(id) ?? body).toBe(body);
      bodies.set(id, body);
    }
    expect(await fixture.query('SELECT 1 FROM webhook_deliveries')).toEqual([]);
  });
});
