/** An executor on a machine with a wrong clock sends nothing new: it would date payments and files, and nobody could correct that. */
import { BankUnavailable } from '@pis/bank-rails';
import { transferOwners } from '@pis/domain';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { ClockGate } from './clock-gate.js';
import { handle } from './testing/restored-log.js';
import { openWorld, settle, type World } from './testing/world.js';

const hourMs = 3_600_000;
const off = (ms: number) => () => Date.now() + ms;

describe('the clock of a machine that was paused', () => {
  it('is noticed within a second, by at most one statement a second', async () => {
    const database = await createTestDatabase();
    const pool = openTestPool(database.url, 1);
    try {
      let [steadyMs, behindMs, statements] = [0, 0, 0];
      const counting = new Proxy(pool, {
        get: (target, name) => {
          if (name === 'query') statements += 1;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
      const gate = new ClockGate(
        counting,
        () => Date.now() - behindMs,
        () => steadyMs,
      );
      await gate.pass();
      behindMs = 2 * hourMs;
      for (steadyMs = 0; steadyMs < 1_000; steadyMs += 20) await gate.pass();
      expect(statements).toBe(1);
      steadyMs = 1_000;
      await expect(gate.pass()).rejects.toThrow('behind that of PostgreSQL');
      expect(statements).toBe(2);
    } finally {
      await pool.end();
      await database.drop();
    }
  });
});

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

it.each(
  transferOwners.flatMap((owner) => [2 * hourMs, -2 * hourMs].map((ms) => [owner, ms] as const)),
)(
  'a %s waits at an executor that is off by %i ms, and another one executes it',
  async (owner, ms) => {
    world = await openWorld({ owner });
    const message = await world.queue('4321');
    const { paymentId } = message;
    const wrong = world.executor({ wallClock: off(ms) });
    await handle(wrong, message);
    for (let times = 1; times <= 10; times += 1) {
      await world.timePasses(paymentId);
      await wrong.sweepRound();
    }
    expect(await world.history(paymentId)).toEqual(['Queued']);
    expect(await world.transfers(paymentId)).toEqual([]);
    expect(world.logger.lines.join()).toContain('see PisClockHoldsPayments');
    const right = world.executor();
    await world.timePasses(paymentId);
    await right.sweepRound();
    await settle(right);
    expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
  },
);

it('a payment that another executor has claimed and not sent is not sent with a wrong clock', async () => {
  world = await openWorld();
  const message = await world.queue('4321');
  const { paymentId } = message;
  const away = () => Promise.reject(new BankUnavailable('away'));
  await handle(world.executor({ bank: { ...world.bank, submit: away } }), message);
  expect(await world.history(paymentId)).toEqual(['Queued', 'Processing']);
  const wrong = world.executor({ wallClock: off(-2 * hourMs) });
  await handle(wrong, message);
  await world.timePasses(paymentId);
  await wrong.sweepRound();
  expect(await world.transfers(paymentId)).toEqual([]);
  const right = world.executor();
  await world.timePasses(paymentId);
  await right.sweepRound();
  await settle(right);
  expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
});

it('an executor whose clock is set right goes on', async () => {
  world = await openWorld();
  const message = await world.queue('4321');
  let offMs = 30 * 24 * hourMs;
  const executor = world.executor({ wallClock: () => Date.now() + offMs });
  await handle(executor, message);
  offMs = 0;
  await world.timePasses(message.paymentId);
  await executor.sweepRound();
  expect(await world.transfers(message.paymentId)).toHaveLength(1);
});

it('an executor that is off by half an hour executes payments', async () => {
  world = await openWorld();
  const message = await world.queue('4321');
  await handle(world.executor({ wallClock: off(hourMs / 2) }), message);
  expect(await world.transfers(message.paymentId)).toHaveLength(1);
});
