/** A rail that is closed gets its payments when it opens. The clock is set. */
import {
  type BankConnection,
  defaultCutoffs,
  instantOf,
  type NamedConnection,
  normalTimeMs,
  railOpensAt,
} from '@pis/bank-rails';
import type { PaymentRail } from '@pis/domain';
import type { RailExecutor } from './rail-executor.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';

let world: World;
let nowMs: number;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const eastern = (text: string) => {
  const [date = '', time = ''] = text.split(' ');
  return instantOf(date, time);
};
const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const opensAt: NamedConnection['opensAt'] = (rail, atMs) => railOpensAt(rail, atMs, defaultCutoffs);
const executorOver = (rail: PaymentRail, changes: Partial<BankConnection> = {}) => {
  const connection = { ...world.bank, ...changes };
  return world.executor({
    banks: [{ name: 'production', rails: [rail], connection, opensAt }],
    clock: () => nowMs,
    config: { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: normalTimeMs(rail, nowMs) },
  });
};
const waitsForMs = async ({ paymentId }: QueuedMessage) => {
  const { rows } = await world.pool.query<{ ms: number }>(
    `SELECT (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms
       FROM rail_pending WHERE payment_id = $1 AND stage = 'queued'`,
    [paymentId],
  );
  return rows[0]?.ms ?? 0;
};

it.each([
  ['FEDWIRE', 'on a Saturday', '2026-11-28 12:00', '2026-11-29 21:00'],
  ['FEDWIRE', 'after the cutoff', '2026-11-23 18:45', '2026-11-23 21:00'],
  ['FEDWIRE', 'before a holiday', '2026-11-25 19:00', '2026-11-26 21:00'],
] as const)(
  'a payment over %s that is ready %s stays QUEUED until the rail opens',
  async (rail, _when, ready, opens) => {
    nowMs = eastern(ready);
    const message = await world.queue('4321', 'OUTBOUND', rail);
    await handle(executorOver(rail), message);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    // Durable, and exact to the minute: the test itself takes a while.
    const missingMs = eastern(opens) - nowMs - (await waitsForMs(message));
    expect(missingMs).toBeGreaterThanOrEqual(0);
    expect(missingMs).toBeLessThan(60_000);

    nowMs = eastern(opens) - 1;
    await world.timePasses(message.paymentId);
    await executorOver(rail).sweepRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    nowMs = eastern(opens);
    await world.timePasses(message.paymentId);
    await executorOver(rail).sweepRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
    expect(await world.executions()).toBe(1);
  },
);

it.each([
  ['FEDWIRE', '2026-11-23 12:00'],
  ['RTP', '2026-11-28 12:00'],
  ['ACH', '2026-11-28 12:00'],
] as const)(
  'a payment over %s that is ready while the rail is open goes at once',
  async (rail, ready) => {
    nowMs = eastern(ready);
    const message = await world.queue('4321', 'OUTBOUND', rail);
    await handle(executorOver(rail), message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
  },
);

it('the time for the confirmation counts from the hand-over', async () => {
  nowMs = eastern('2026-11-28 12:00');
  const message = await world.queue('0401', 'OUTBOUND', 'FEDWIRE');
  await handle(executorOver('FEDWIRE'), message);
  expect(await world.executions()).toBe(0);
  nowMs = eastern('2026-11-29 21:00');
  await world.timePasses(message.paymentId);
  await executorOver('FEDWIRE').sweepRound();
  // The claim is stamped with the machine's clock: the deadline counts from there.
  const { statusAt } = await world.payment(message.paymentId);
  const { rows } = await world.pool.query<{ in_ms: number }>(
    `SELECT (extract(epoch FROM overdue_at - now()) * 1000)::float8 AS in_ms
       FROM rail_pending WHERE payment_id = $1`,
    [message.paymentId],
  );
  expect(Date.parse(statusAt)).toBeLessThanOrEqual(Date.now());
  expect(rows[0]?.in_ms).toBeGreaterThan(normalTimeMs('FEDWIRE', nowMs) - 600_000);
});
