import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import { deliveryOf, type Outcome } from '@pis/webhook-deliveries';
import { DeliveryEngine } from './delivery-engine.js';
import { dispatcherLimits, leaseMs, slotsOf } from './limits.js';
import { delivered, fanOutTo } from './testing/fan-outs.js';
import { Traffic } from './traffic.js';

const limits = { ...dispatcherLimits.engine, leaseMs: leaseMs(1_000), pollMaxMs: 60_000 };
/** A clock by which no attempt lasts too long, however slow the machine is. */
const standingStill = () => ({ atMs: 0, idleMs: 0 });
const unexpected = () => Promise.reject(new Error('an empty table has nothing to work on'));

describe('A delivery engine in an idle system', () => {
  it('asks the table seldom, and often for a while after another process has told of deliveries', async () => {
    let asked = 0;
    const bell = new Bell();
    const engine = new DeliveryEngine({
      table: {
        async due() {
          asked += 1;
          await setImmediate();
          return { endpoints: [], nextDueAt: null };
        },
        ...{ insert: unexpected, retake: unexpected, claim: unexpected, leased: unexpected },
        ...{ record: unexpected, failExpired: unexpected },
      },
      traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
      attempt: unexpected,
      now: () => new Date(),
      windowMinMs: 1,
      logError: () => undefined,
      wakeUp: { bell, idleMs: () => 3_600_000 },
      limits: { ...limits, pollMaxMs: 1 },
    });
    engine.start();
    await until(() => asked === 1, { timeoutMs: 20_000 });
    for (let turn = 0; turn < 500; turn += 1) await setImmediate();
    expect(asked).toBe(1);
    bell.ring();
    await until(() => asked > 10, { timeoutMs: 20_000 });
    await engine.stop();
  });

  it('asks the table when a delivery is due that it has seen there', async () => {
    const dueAt = new Date(Date.now() + 300);
    const askedAt: Date[] = [];
    const engine = new DeliveryEngine({
      table: {
        due(now) {
          askedAt.push(now);
          return Promise.resolve({ endpoints: [], nextDueAt: now < dueAt ? dueAt : null });
        },
        ...{ insert: unexpected, retake: unexpected, claim: unexpected, leased: unexpected },
        ...{ record: unexpected, failExpired: unexpected },
      },
      traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
      attempt: unexpected,
      now: () => new Date(),
      windowMinMs: 1,
      logError: () => undefined,
      wakeUp: { bell: new Bell(), idleMs: () => 3_600_000 },
      limits: { ...limits, pollMaxMs: 1 },
    });
    engine.start();
    await until(() => askedAt.some((at) => at >= dueAt), { timeoutMs: 20_000 });
    // A timer may end a millisecond early.
    expect(askedAt.length).toBeLessThan(5);
    await engine.stop();
  });

  const owned = { endpointId: 'endpoint', organizationId: randomUUID() };
  const claimed = ({ room }: { readonly room: ReadonlyMap<string, number> }) =>
    Promise.resolve(
      Array.from({ length: room.get('endpoint') ?? 0 }, () => {
        const fanOut = { ...fanOutTo('endpoint'), organizationId: owned.organizationId };
        return fanOut.receivers.map((receiver) => deliveryOf(fanOut, receiver));
      }).flat(),
    );

  it.each<[string, () => Promise<Outcome | 'disabled'>]>([
    ['fails, once its pause is over', () => Promise.resolve(failed())],
    ['is disabled, once it may be enabled again', () => Promise.resolve('disabled')],
    ['cannot be read, once its pause is over', () => Promise.reject(new Error('unreadable'))],
  ])('takes the next delivery of an endpoint that %s', async (_, attempt) => {
    let attempts = 0;
    const engine = new DeliveryEngine({
      table: {
        due: (_now, { except }) =>
          Promise.resolve({
            endpoints: except.includes('endpoint') ? [] : [owned],
            nextDueAt: null,
          }),
        claim: claimed,
        record: () => Promise.resolve(),
        failExpired: () => Promise.resolve(null),
        ...{ insert: unexpected, retake: unexpected, leased: unexpected },
      },
      traffic: new Traffic({
        ...{ ...limits, ...slotsOf(), perEndpointInitial: 1 },
        ...{ unhealthyAfterFailures: 1, unhealthyPauseMs: 20 },
      }),
      async attempt() {
        attempts += 1;
        // The loop has gone to sleep.
        await setImmediate();
        return attempt();
      },
      now: () => new Date(),
      windowMinMs: 1,
      logError: () => undefined,
      wakeUp: { bell: new Bell(), idleMs: () => 3_600_000 },
      limits: { ...limits, postponeMs: 20, disabledRecheckMs: 20 },
    });
    engine.start();
    await until(() => attempts > 5, { timeoutMs: 20_000 });
    await engine.stop();
  });

  it('looks often while it makes attempts to what was due in the table', async () => {
    const answered = Promise.withResolvers<Outcome>();
    let isDue = true;
    let askedMeanwhile = 0;
    const engine = new DeliveryEngine({
      table: {
        due() {
          if (!isDue) askedMeanwhile += 1;
          return Promise.resolve({ endpoints: isDue ? [owned] : [], nextDueAt: null });
        },
        claim(options) {
          isDue = false;
          return claimed(options);
        },
        record: () => Promise.resolve(),
        ...{ insert: unexpected, retake: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
      attempt: () => answered.promise,
      now: () => new Date(),
      windowMinMs: 1,
      logError: () => undefined,
      wakeUp: { bell: new Bell(), idleMs: () => 3_600_000 },
      limits: { ...limits, pollMaxMs: 1 },
    });
    engine.start();
    // What becomes due for the endpoint while it has no room is not known to the loop.
    await until(() => askedMeanwhile > 10, { timeoutMs: 20_000 });
    answered.resolve(delivered());
    await engine.stop();
  });
});

function failed(): Outcome {
  const at = new Date();
  const attempt = { at, status: 500, durationMs: 1, error: null, responseExcerpt: '' };
  const nextAttemptAt = new Date(at.getTime() + 3_600_000_000);
  return { kind: 'retry', nextAttemptAt, attempt: { id: randomUUID(), ...attempt } };
}
