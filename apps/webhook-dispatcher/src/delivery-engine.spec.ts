import { setImmediate } from 'node:timers/promises';
import { until } from '@pis/local-servers/testing';
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
