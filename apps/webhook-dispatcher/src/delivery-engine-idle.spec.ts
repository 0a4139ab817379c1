import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import { deliveryOf, type Outcome } from '@pis/webhook-deliveries';
import { DeliveryEngine, type EngineDeps } from './delivery-engine.js';
import { dispatcherLimits, leaseMs, slotsOf } from './limits.js';
import { delivered, fanOutTo, idsOf } from './testing/fan-outs.js';
import { Traffic } from './traffic.js';

const atEnd = closeAfterEach();

const limits = { ...dispatcherLimits.engine, leaseMs: leaseMs(1_000), pollMaxMs: 60_000 };
/** A clock by which no attempt lasts too long, however slow the machine is. */
const standingStill = () => ({ atMs: 0, idleMs: 0 });
const unexpected = () => Promise.reject(new Error('an empty table has nothing to work on'));

/** An engine that nothing wakes by itself. What is not given must not be called, but for `due`, which finds nothing. */
function engineOf({
  table,
  limits: ownLimits,
  ...own
}: Partial<Omit<EngineDeps, 'table' | 'limits'>> & {
  readonly table: Partial<EngineDeps['table']>;
  readonly limits?: Partial<EngineDeps['limits']>;
}): DeliveryEngine {
  return new DeliveryEngine({
    table: {
      due: () => Promise.resolve({ endpoints: [], nextDueAt: null }),
      ...{ insert: unexpected, retake: unexpected, claim: unexpected, leased: unexpected },
      ...{ record: unexpected, failExpired: unexpected },
      ...table,
    },
    traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
    attempt: unexpected,
    now: () => new Date(),
    clocks: { require: () => Promise.resolve() },
    windowMinMs: 1,
    logError: () => undefined,
    wakeUp: { bell: new Bell(), idleMs: () => 3_600_000 },
    limits: { ...limits, ...ownLimits },
    ...own,
  });
}

describe('A delivery engine in an idle system', () => {
  it('asks the table seldom, and often for a while after another process has told of deliveries', async () => {
    let asked = 0;
    const bell = new Bell();
    const engine = engineOf({
      table: {
        async due() {
          asked += 1;
          await setImmediate();
          return { endpoints: [], nextDueAt: null };
        },
      },
      wakeUp: { bell, idleMs: () => 3_600_000 },
      limits: { pollMaxMs: 1 },
    });
    atEnd(() => engine.stop());
    engine.start();
    await until(() => asked === 1, { timeoutMs: 20_000 });
    for (let turn = 0; turn < 500; turn += 1) await setImmediate();
    expect(asked).toBe(1);
    bell.ring();
    await until(() => asked > 10, { timeoutMs: 20_000 });
  });

  it('asks the table when a delivery is due that it has seen there', async () => {
    const dueAt = new Date(Date.now() + 300);
    const askedAt: Date[] = [];
    const engine = engineOf({
      table: {
        due(now) {
          askedAt.push(now);
          return Promise.resolve({ endpoints: [], nextDueAt: now < dueAt ? dueAt : null });
        },
      },
      limits: { pollMaxMs: 1 },
    });
    atEnd(() => engine.stop());
    engine.start();
    await until(() => askedAt.some((at) => at >= dueAt), { timeoutMs: 20_000 });
    // A timer may end a millisecond early.
    expect(askedAt.length).toBeLessThan(5);
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
    const engine = engineOf({
      table: {
        due: (_now, { except }) =>
          Promise.resolve({
            endpoints: except.includes('endpoint') ? [] : [owned],
            nextDueAt: null,
          }),
        claim: claimed,
        record: () => Promise.resolve(),
        failExpired: () => Promise.resolve(null),
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
      limits: { postponeMs: 20, disabledRecheckMs: 20 },
    });
    engine.start();
    await until(() => attempts > 5, { timeoutMs: 20_000 });
    await engine.stop();
  });

  it('looks often while it makes attempts to what was due in the table', async () => {
    const answered = Promise.withResolvers<Outcome>();
    let isDue = true;
    let askedMeanwhile = 0;
    const engine = engineOf({
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
      },
      attempt: () => answered.promise,
      limits: { pollMaxMs: 1 },
    });
    atEnd(() => engine.stop());
    engine.start();
    // What becomes due for the endpoint while it has no room is not known to the loop.
    await until(() => askedMeanwhile > 10, { timeoutMs: 20_000 });
    answered.resolve(delivered());
  });

  it('looks often while it makes attempts to new deliveries', async () => {
    let asked = 0;
    const answered = Promise.withResolvers<Outcome>();
    const engine = engineOf({
      table: {
        due() {
          asked += 1;
          return Promise.resolve({ endpoints: [], nextDueAt: null });
        },
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        record: () => Promise.resolve(),
      },
      attempt: () => answered.promise,
      limits: { pollMaxMs: 1 },
    });
    atEnd(() => engine.stop());
    engine.start();
    await until(() => asked === 1, { timeoutMs: 20_000 });
    await engine.deliver(fanOutTo('endpoint'));
    await until(() => asked > 10, { timeoutMs: 20_000 });
    answered.resolve(delivered());
  });

  it.each<[string, () => Promise<Outcome>, { told: number; attempts: number }]>([
    [
      'is due again soon, tells others, and wakes then',
      () => Promise.resolve(failed(300)),
      { told: 1, attempts: 2 },
    ],
    [
      'is due again later than every dispatcher looks, tells nobody',
      () => Promise.resolve(failed()),
      { told: 0, attempts: 1 },
    ],
    [
      'could not be attempted, tells others',
      () => Promise.reject(new Error('unreadable')),
      { told: 1, attempts: 1 },
    ],
  ])('that has a delivery which %s', async (_, attempt, expected) => {
    const ending = Promise.withResolvers<void>();
    let dueAt: Date | null = new Date(0);
    let [asked, attempts, told, recorded] = [0, 0, 0, 0];
    const engine = engineOf({
      table: {
        due(now) {
          asked += 1;
          const isDue = dueAt !== null && dueAt <= now;
          return Promise.resolve({
            endpoints: isDue ? [owned] : [],
            nextDueAt: isDue ? null : dueAt,
          });
        },
        claim({ room }) {
          dueAt = null;
          return claimed({ room: new Map([...room.keys()].map((endpointId) => [endpointId, 1])) });
        },
        record(decided) {
          recorded += decided.length;
          const [{ outcome } = { outcome: null }] = decided;
          if (attempts === 1 && outcome?.kind === 'retry') dueAt = outcome.nextAttemptAt;
          return Promise.resolve();
        },
      },
      async attempt() {
        attempts += 1;
        if (attempts > 1) return delivered();
        await ending.promise;
        return attempt();
      },
      tellOthers: () => Promise.resolve(void (told += 1)),
    });
    engine.start();
    // The loop sleeps.
    await until(() => asked >= 2 && attempts === 1, { timeoutMs: 20_000 });
    ending.resolve();
    await until(() => attempts === expected.attempts && recorded === attempts, {
      timeoutMs: 20_000,
    });
    await engine.stop();
    expect({ told, attempts }).toEqual(expected);
  });

  it('tells others of what it gives back when it stops, once they can take it', async () => {
    const happened: string[] = [];
    const answered = Promise.withResolvers<Outcome>();
    let isKnown = false;
    const engine = engineOf({
      table: {
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        async record(decided) {
          const isBack = decided.some(({ outcome }) => outcome.kind === 'released');
          if (isBack) await until(() => happened.includes('told'), { timeoutMs: 20_000 });
          if (isBack) happened.push('free');
        },
      },
      traffic: new Traffic({ ...limits, ...slotsOf(), perEndpointMax: 1 }, standingStill),
      attempt: () => (isKnown ? answered.promise : Promise.resolve(delivered())),
      tellOthers: () => Promise.resolve(void happened.push('told')),
      limits: { shutdownGraceMs: 1_000 },
    });
    engine.start();
    // From now on the endpoint is known as quick, and deliveries wait for it here.
    await engine.deliver(fanOutTo('endpoint'));
    isKnown = true;
    for (let n = 0; n < 10; n += 1) await engine.deliver(fanOutTo('endpoint'));
    const stopped = engine.stop();
    await until(() => happened.includes('free'), { timeoutMs: 20_000 });
    answered.resolve(delivered());
    await stopped;
    expect(happened.at(0)).toBe('told');
    expect(happened.at(-1)).toBe('told');
  });
});

function failed(againInMs = 3_600_000_000): Outcome {
  const at = new Date();
  const attempt = { at, status: 500, durationMs: 1, error: null, responseExcerpt: '' };
  const nextAttemptAt = new Date(at.getTime() + againInMs);
  return { kind: 'retry', nextAttemptAt, attempt: { id: randomUUID(), ...attempt } };
}
