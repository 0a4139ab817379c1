import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { deliveryOf } from '@pis/webhook-deliveries';
import { DeliveryEngine, type EngineDeps } from './delivery-engine.js';
import { dispatcherLimits, leaseMs, slotsOf } from './limits.js';
import { delivered, fanOutTo, idsOf } from './testing/fan-outs.js';
import { type OwnedEndpoint, type Ticket, Traffic } from './traffic.js';

const atEnd = closeAfterEach();

const limits = { ...dispatcherLimits.engine, leaseMs: leaseMs(1_000), pollMaxMs: 60_000 };
/** A clock by which no attempt lasts too long, however slow the machine is. */
const standingStill = () => ({ atMs: 0, idleMs: 0 });
const unexpected = () => Promise.reject(new Error('an empty table has nothing to work on'));

describe('A delivery engine without work', () => {
  it('asks the table once, and again only when it is told of more', async () => {
    let asked = 0;
    const table: EngineDeps['table'] = {
      async due() {
        asked += 1;
        await setImmediate();
        return { endpoints: [], nextDueAt: null };
      },
      ...{ insert: unexpected, retake: unexpected, claim: unexpected, leased: unexpected },
      ...{ record: unexpected, failExpired: unexpected },
    };
    const engine = new DeliveryEngine({
      table,
      traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
      attempt: unexpected,
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    atEnd(() => engine.stop());
    const turns = async () => {
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    };
    engine.start();
    await until(() => asked >= 1, { timeoutMs: 20_000 });
    await turns();
    expect(asked).toBe(1);
    engine.expectMore('endpoint');
    await until(() => asked >= 2, { timeoutMs: 20_000 });
    await turns();
    expect(asked).toBe(2);
  });
});

describe('A delivery engine whose outcomes are recorded late', () => {
  it('makes the next attempts to an endpoint that answers quickly meanwhile', async () => {
    const recording = Promise.withResolvers<void>();
    let recorded = Promise.resolve();
    let attempts = 0;
    const traffic = new Traffic({ ...limits, ...slotsOf() }, standingStill);
    const engine = new DeliveryEngine({
      table: {
        due: () => Promise.resolve({ endpoints: [], nextDueAt: null }),
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        record: () => recorded,
        ...{ retake: unexpected, claim: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic,
      attempt: () => {
        attempts += 1;
        return Promise.resolve(delivered());
      },
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    atEnd(() => engine.stop());
    engine.start();
    // From now on the endpoint is known as quick.
    await engine.deliver(fanOutTo('endpoint'));
    await until(() => attempts === 1, { timeoutMs: 20_000 });
    await until(() => traffic.inFlight === 0, { timeoutMs: 20_000 });
    recorded = recording.promise;
    for (let n = 0; n < 50; n += 1) await engine.deliver(fanOutTo('endpoint'));
    await until(() => attempts === 51, { timeoutMs: 20_000 });
    recording.resolve();
  });
});

describe('A delivery engine whose database is away while attempts end', () => {
  it('stops within the share of the endpoint, and has all slots again and nothing lost afterwards', async () => {
    let isAway = false;
    let refused = 0;
    const recorded = new Set<string>();
    const attempted: string[] = [];
    const traffic = new Traffic({ ...limits, ...slotsOf() }, standingStill);
    const engine = new DeliveryEngine({
      table: {
        due: () => Promise.resolve({ endpoints: [], nextDueAt: null }),
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        record(decided) {
          if (isAway) refused += decided.length;
          if (isAway) return Promise.reject(new Error('the database is away'));
          for (const { delivery } of decided) recorded.add(delivery.id);
          return Promise.resolve();
        },
        ...{ retake: unexpected, claim: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic,
      attempt({ id }) {
        attempted.push(id);
        return Promise.resolve(delivered());
      },
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    atEnd(() => engine.stop());
    engine.start();
    await engine.deliver(fanOutTo('endpoint'));
    await until(() => recorded.size === 1 && traffic.inFlight === 0, { timeoutMs: 20_000 });
    isAway = true;
    const { openPerEndpointMax } = slotsOf();
    // As many as may be attempted, as many as may wait, and some that stay in the table.
    const most = openPerEndpointMax + limits.waitingPerEndpointMax;
    for (let n = 0; n < most + 20; n += 1) await engine.deliver(fanOutTo('endpoint'));
    const refusedBefore = refused;
    await until(() => refused > refusedBefore + openPerEndpointMax, { timeoutMs: 20_000 });
    expect(attempted).toHaveLength(1 + openPerEndpointMax);
    expect(traffic.room('endpoint')).toBe(0);
    isAway = false;
    await until(() => recorded.size === 1 + most && traffic.inFlight === 0, { timeoutMs: 20_000 });
    // Each one once.
    expect(new Set(attempted).size).toBe(attempted.length);
    expect(traffic.room('endpoint')).toBe(slotsOf().perEndpointMax);
    expect(traffic.freeFor('quick')).toBe(slotsOf().knownMax);
    expect(traffic.limited()).toEqual([]);
  });
});

describe('An endpoint to which no attempt could be made', () => {
  it.each([
    ['its address could not be read', () => Promise.reject(new Error('the store is away'))],
    ['it is disabled', () => Promise.resolve('disabled' as const)],
  ])('is not slow because the record of that is late: %s', async (_, attempt) => {
    const recording = Promise.withResolvers<void>();
    let recorded = Promise.resolve();
    let attempts = 0;
    let nowMs = 0;
    const traffic = new Traffic(
      { ...limits, ...slotsOf(), ...{ slowAfterMs: 5, slowAfterBusyMs: 5 } },
      () => ({ atMs: nowMs, idleMs: nowMs }),
    );
    const freed = Promise.withResolvers<void>();
    const engine = new DeliveryEngine({
      table: {
        due: () => Promise.resolve({ endpoints: [], nextDueAt: null }),
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        record: () => recorded,
        failExpired: () => recording.promise.then(() => null),
        ...{ retake: unexpected, claim: unexpected, leased: unexpected },
      },
      traffic,
      attempt: () => {
        attempts += 1;
        return attempt();
      },
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    recorded = recording.promise;
    await engine.deliver(fanOutTo('endpoint'));
    await until(() => attempts === 1, { timeoutMs: 20_000 });
    await setImmediate();
    // An attempt that began later, and that hangs, is found to be slow.
    traffic.whenQuickFreed(() => freed.resolve());
    traffic.begin({ endpointId: 'hanging', organizationId: 'another' });
    nowMs += 5;
    await freed.promise;
    expect(traffic.speedOf('endpoint')).toBe('unknown');
    expect(traffic.inFlight).toBe(2);
    recording.resolve();
    await engine.stop();
    expect(traffic.inFlight).toBe(1);
  });
});

describe('A delivery engine that cannot make an attempt', () => {
  it('leaves the other deliveries of the endpoint in the table for a while, however many are due', async () => {
    const owned = { endpointId: 'endpoint', organizationId: randomUUID() };
    let attempts = 0;
    const engine = new DeliveryEngine({
      table: {
        due: (_, { except }) =>
          Promise.resolve({
            endpoints: except.includes('endpoint') ? [] : [owned],
            nextDueAt: null,
          }),
        claim: ({ room }) =>
          Promise.resolve(
            Array.from({ length: room.get('endpoint') ?? 0 }, () => {
              const fanOut = { ...fanOutTo('endpoint'), organizationId: owned.organizationId };
              return fanOut.receivers.map((receiver) => deliveryOf(fanOut, receiver));
            }).flat(),
          ),
        record: () => Promise.resolve(),
        ...{ insert: unexpected, retake: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic: new Traffic({ ...limits, ...slotsOf() }, standingStill),
      attempt() {
        attempts += 1;
        return Promise.reject(new Error('its endpoint cannot be read'));
      },
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    atEnd(() => engine.stop());
    engine.start();
    await until(() => attempts > 0, { timeoutMs: 20_000 });
    for (let turn = 0; turn < 200; turn += 1) await setImmediate();
    expect(attempts).toBe(slotsOf().perEndpointInitial);
  });
});

describe('An endpoint that turns slow while its deliveries are claimed', () => {
  it('gets no more attempts than a slow endpoint, and its deliveries go back', async () => {
    const traffic = new Traffic({ ...limits, ...slotsOf() }, standingStill);
    const owned = { endpointId: 'endpoint', organizationId: randomUUID() };
    const over = (ticket: Ticket, gotStatus: boolean) => {
      traffic.attempted(ticket, gotStatus ? 'answered' : 'failed', gotStatus);
      traffic.end(ticket);
    };
    for (let n = 0; n < 32; n += 1) over(traffic.begin(owned), true);
    const attempting = Promise.withResolvers<void>();
    const { perEndpointMax } = slotsOf();
    let claimed = 0;
    let attempts = 0;
    const released: string[] = [];
    const engine = new DeliveryEngine({
      table: {
        due: (_, { except }) =>
          Promise.resolve({
            endpoints: claimed > 0 || except.includes('endpoint') ? [] : [owned],
            nextDueAt: null,
          }),
        claim({ room }) {
          claimed = room.get('endpoint') ?? 0;
          // It fails until it is unhealthy.
          for (let n = 0; n < limits.unhealthyAfterFailures; n += 1)
            over(traffic.begin(owned), false);
          return Promise.resolve(
            Array.from({ length: claimed }, () => {
              const fanOut = { ...fanOutTo('endpoint'), organizationId: owned.organizationId };
              return fanOut.receivers.map((receiver) => deliveryOf(fanOut, receiver));
            }).flat(),
          );
        },
        record(decided) {
          for (const { delivery, outcome } of decided)
            if (outcome.kind === 'released') released.push(delivery.id);
          return Promise.resolve();
        },
        ...{ insert: unexpected, retake: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic,
      async attempt() {
        attempts += 1;
        await attempting.promise;
        return delivered();
      },
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    atEnd(() => engine.stop());
    engine.start();
    await until(() => released.length === claimed && claimed > 0, { timeoutMs: 20_000 });
    expect(claimed).toBeGreaterThan(perEndpointMax);
    expect(attempts).toBe(0);
    expect(traffic.inFlight).toBe(0);
    attempting.resolve();
  });
});

describe('An organization whose attempts hang beyond its share', () => {
  it('does not keep the due deliveries of others from being claimed, however many of its own wait', async () => {
    const traffic = new Traffic({ ...limits, ...slotsOf() }, standingStill);
    const answerQuickly = (owned: OwnedEndpoint) => {
      const ticket = traffic.begin(owned);
      traffic.attempted(ticket, 'answered', true);
      traffic.end(ticket);
    };
    const organizationId = randomUUID();
    const endpoints = Array.from({ length: 20 }, (_, n) => `endpoint ${n}`);
    for (const endpointId of endpoints) answerQuickly({ endpointId, organizationId });
    const another = { endpointId: 'another', organizationId: randomUUID() };
    answerQuickly(another);
    for (let n = 0; n < slotsOf().underWayPerOrganizationMax; n += 1)
      traffic.begin({ endpointId: `hanging ${n % 9}`, organizationId });
    let isDue = false;
    const claimed: string[] = [];
    const engine = new DeliveryEngine({
      table: {
        due: (_, { except }) =>
          Promise.resolve({
            endpoints: isDue && !except.includes('another') ? [another] : [],
            nextDueAt: null,
          }),
        claim({ room }) {
          claimed.push(...room.keys());
          isDue = false;
          return Promise.resolve([]);
        },
        insert: (events) => Promise.resolve(new Set(events.flatMap(({ fanOut }) => idsOf(fanOut)))),
        record: () => Promise.resolve(),
        ...{ retake: unexpected, leased: unexpected, failExpired: unexpected },
      },
      traffic,
      attempt: unexpected,
      now: () => new Date(),
      clocks: { require: () => Promise.resolve() },
      windowMinMs: 1,
      logError: () => undefined,
      limits: { ...limits, pollMaxMs: 10 },
    });
    atEnd(() => engine.stop());
    engine.start();
    for (const endpointId of endpoints)
      for (let n = 0; n < limits.waitingPerEndpointMax; n += 1)
        await engine.deliver({ ...fanOutTo(endpointId), organizationId });
    isDue = true;
    await until(() => claimed.includes('another'), { timeoutMs: 20_000 });
  });
});
