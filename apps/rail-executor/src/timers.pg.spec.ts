import type { BankConnection } from '@pis/bank-rails';
import { until } from '@pis/local-servers/testing';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);

describe('the deadline loop', () => {
  it('asks for no round of its own when no payment waits', async () => {
    expect(await world.executor().deadlineRound()).toBeNull();
  });

  it('asks for its next round when the next payment is due', async () => {
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 };
    const executor = world.executor({ config });
    await handle(executor, await world.queue('0401'));
    expect(await executor.deadlineRound()).toBeGreaterThan(3_000_000);
  });
});

describe('a timer', () => {
  const patient = () => ({ ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 });
  const inReview = (checkAgainInMs: number): BankConnection => ({
    ...world.bank,
    screen: () => Promise.resolve({ outcome: 'in_review', checkAgainInMs }),
  });
  const waitsMs = async (paymentId: string) =>
    (
      await world.pool.query<{ ms: number }>(
        `SELECT (extract(epoch FROM deadline_at - submitted_at) * 1000)::float8 AS ms
           FROM rail_pending WHERE payment_id = $1`,
        [paymentId],
      )
    ).rows[0]?.ms;

  it('that could not be put away leaves the deadline of the submitted payment where it is', async () => {
    const message = await world.queue('0401');
    await handle(world.executor({ bank: inReview(0) }), message);
    const forgetful = new Proxy(world.pool, {
      get(pool, name) {
        if (name !== 'query') return Reflect.get(pool, name, pool) as unknown;
        return (...args: Parameters<typeof pool.query>) =>
          String(args[0]).startsWith('DELETE FROM rail_pending')
            ? Promise.reject(new Error('Connection terminated unexpectedly'))
            : pool.query(...args);
      },
    });
    const executor = world.executor({ pool: forgetful, config: patient() });
    await until(
      async () => {
        await executor.deadlineRound();
        return (await world.history(message.paymentId)).includes('Processing');
      },
      { timeoutMs: 20_000 },
    );
    expect(await waitsMs(message.paymentId)).toBeGreaterThan(3_000_000);
    await world.executor({ config: patient() }).deadlineRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  });

  it.each([
    ['confirmed', ['Completed']],
    ['returned', ['Completed', 'Returned']],
  ])(
    'that is looked at before the feed, after a restart, does not deny what the bank has %s in time',
    async (type, end) => {
      const message = await world.queue('0401');
      await handle(world.executor(), message);
      const { railReference } = await world.payment(message.paymentId);
      await world.pool.query(
        `INSERT INTO bank_notifications (reference, type, due_at, created_at)
         VALUES ($1, $2, now(), now())`,
        [railReference, type],
      );
      const restarted = world.executor();
      await restarted.deadlineRound();
      await settle(restarted);
      expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', ...end]);
      expect(await world.count('rail_pending')).toBe(0);
    },
  );

  it.each([
    ['at once', 0, 10, 5_000],
    ['in a thousand years', 1_000 * 365 * 24 * 3_600_000, 3_600_000, 48 * 3_600_000],
    ['after the end of time', Number.MAX_SAFE_INTEGER, 3_600_000, 48 * 3_600_000],
  ])(
    'does not let a bank that wants to be asked again %s wear us out or forget the payment',
    async (_when, checkAgainInMs, leastMs, mostMs) => {
      const message = await world.queue('4321');
      await handle(world.executor({ bank: inReview(checkAgainInMs) }), message);
      const ms = await waitsMs(message.paymentId);
      expect(ms).toBeGreaterThan(leastMs);
      expect(ms).toBeLessThan(mostMs);
    },
  );
});
