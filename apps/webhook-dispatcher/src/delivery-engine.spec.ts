import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { until } from '@pis/local-servers/testing';
import type { FanOut, Outcome } from '@pis/webhook-deliveries';
import { DeliveryEngine, type EngineDeps } from './delivery-engine.js';
import { dispatcherLimits, leaseMs, slotsOf } from './limits.js';
import { Traffic } from './traffic.js';

const limits = { ...dispatcherLimits.engine, leaseMs: leaseMs(1_000), pollMaxMs: 60_000 };
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
      traffic: new Traffic({ ...limits, ...slotsOf() }),
      attempt: unexpected,
      now: () => new Date(),
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
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
    await engine.stop();
  });
});

describe('A delivery engine whose outcomes are recorded late', () => {
  it('makes the next attempts to an endpoint that answers quickly meanwhile', async () => {
    const recording = Promise.withResolvers<void>();
    let recorded = Promise.resolve();
    let attempts = 0;
    const traffic = new Traffic({ ...limits, ...slotsOf() });
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
      windowMinMs: 1,
      logError: () => undefined,
      limits,
    });
    engine.start();
    // From now on the endpoint is known as quick.
    await engine.deliver(fanOutTo('endpoint'));
    await until(() => attempts === 1, { timeoutMs: 20_000 });
    await until(() => traffic.inFlight === 0, { timeoutMs: 20_000 });
    recorded = recording.promise;
    for (let n = 0; n < 50; n += 1) await engine.deliver(fanOutTo('endpoint'));
    await until(() => attempts === 51, { timeoutMs: 20_000 });
    recording.resolve();
    await engine.stop();
  });
});

const idsOf = ({ receivers }: FanOut) => receivers.map(({ deliveryId }) => deliveryId);

function fanOutTo(endpointId: string): FanOut {
  const at = new Date();
  return {
    ...{ eventId: randomUUID(), organizationId: randomUUID(), eventType: 'payment.created' },
    ...{ paymentId: null, occurredAt: at, body: '{}', bodyHash: '', traceparent: null },
    ...{ createdAt: at, windowEndsAt: at, receivers: [{ deliveryId: randomUUID(), endpointId }] },
  };
}

function delivered(): Outcome {
  const at = new Date();
  const attempt = { at, status: 200, durationMs: 1, error: null, responseExcerpt: '' };
  return { kind: 'delivered', finishedAt: at, attempt: { id: randomUUID(), ...attempt } };
}
