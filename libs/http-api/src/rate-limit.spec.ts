import { RateLimit, RateLimited } from './rate-limit.js';
import type { RateLimitTally } from './rate-limit-tally.js';

function setUp(perSecond: number) {
  let nowMs = 1_000;
  const limit = new RateLimit({ perSecond, clock: () => nowMs });
  return {
    /** Counts how many of `count` requests pass. */
    passing: (count: number, id = 'key') => {
      let passed = 0;
      for (let i = 0; i < count; i += 1)
        try {
          limit.take(id);
          passed += 1;
        } catch (error) {
          expect(error).toMatchObject({ code: 'RATE_LIMITED' });
        }
      return passed;
    },
    giveBack: (id = 'key') => limit.giveBack(id),
    wait: (ms: number) => void (nowMs += ms),
  };
}

describe('a rate limit', () => {
  it('allows a burst of twice the rate, and then the rate', () => {
    const { passing, wait } = setUp(10);
    expect(passing(100)).toBe(20);
    for (let second = 0; second < 5; second += 1) {
      wait(1_000);
      expect(passing(100)).toBe(10);
    }
    wait(100);
    expect(passing(100)).toBe(1);
    wait(3_600_000);
    expect(passing(100)).toBe(20);
  });

  it('applies to each key separately', () => {
    const { passing } = setUp(1);
    expect([passing(5), passing(5, 'another'), passing(5)]).toEqual([2, 2, 0]);
  });

  it('returns tokens of requests that do not count, and never holds more than a burst', () => {
    const { passing, giveBack } = setUp(1);
    for (let i = 0; i < 10; i += 1) {
      expect(passing(1)).toBe(1);
      giveBack();
    }
    giveBack();
    expect(passing(10)).toBe(2);
    giveBack();
    expect(passing(10)).toBe(1);
  });

  it('of 0 means no limit', () => {
    const { passing, giveBack } = setUp(0);
    giveBack();
    expect(passing(10_000)).toBe(10_000);
  });

  it('reports how many requests are left, and when more are available', () => {
    let nowMs = 0;
    const limit = new RateLimit({ perSecond: 10, clock: () => nowMs });
    expect(limit.policy).toEqual({ requests: 20, seconds: 2 });
    expect(limit.take('key')).toEqual({ remaining: 19, waitSeconds: 1 });
    nowMs += 50;
    expect(limit.take('key')).toEqual({ remaining: 18, waitSeconds: 1 });
    for (let left = 17; left >= 0; left -= 1) expect(limit.take('key')?.remaining).toBe(left);
    expect(() => limit.take('key')).toThrow(
      expect.objectContaining({ quota: { remaining: 0, waitSeconds: 1 } }) as Error,
    );
    const none = new RateLimit({ perSecond: 0 });
    expect([none.policy, none.take('key')]).toEqual([null, null]);
  });
});

/** Gateways that share one counter in memory and one clock. */
function setUpShared(perSecond: number, gateways: number) {
  let nowMs = 0;
  const world = { total: 0, windowStartMs: 0, away: false, asked: 0 };
  const tally: RateLimitTally = {
    isFree: () => true,
    add: async (_id, count) => {
      world.asked += 1;
      if (world.away) return null;
      world.total += count;
      return { total: world.total, windowAgeMs: nowMs - world.windowStartMs };
    },
  };
  const limits = Array.from(
    { length: gateways },
    () => new RateLimit({ perSecond, tally, clock: () => nowMs }),
  );
  return {
    limits,
    world,
    wait: (ms: number) => void (nowMs += ms),
    newWindow: () => Object.assign(world, { total: 0, windowStartMs: nowMs }),
    /** Counts how many of these requests pass. They go to the named gateways in turn. */
    passing: async (count: number, to = limits.map((_, at) => at)) => {
      let passed = 0;
      for (let i = 0; i < count; i += 1) {
        try {
          limits[to[i % to.length] ?? 0]?.take('key');
          passed += 1;
        } catch (error) {
          // Not expect(): it would take most of the time of the tens of thousands of requests here.
          if (!(error instanceof RateLimited)) throw error;
        }
        // The gateway receives the total before the next request.
        await Promise.resolve();
        await Promise.resolve();
      }
      return passed;
    },
  };
}

describe('a rate limit that gateways share', () => {
  const rate = 80;
  const burst = 160;
  const batch = 20;

  it('is one burst and one rate for all of them, plus at most one batch each', async () => {
    const { passing, wait } = setUpShared(rate, 3);
    const first = await passing(1_000);
    expect(first).toBeGreaterThanOrEqual(burst);
    expect(first).toBeLessThanOrEqual(burst + 3 * batch);
    let passed = first;
    for (let tenths = 0; tenths < 100; tenths += 1) {
      wait(100);
      passed += await passing(50);
    }
    expect(passed).toBeGreaterThanOrEqual(burst + 10 * rate - 3 * batch);
    expect(passed).toBeLessThanOrEqual(burst + 10 * rate + 3 * batch);
  });

  it('holds for twenty gateways under full load for a minute', async () => {
    const gateways = 20;
    const { passing, wait } = setUpShared(rate, gateways);
    let passed = await passing(1_000);
    expect(passed).toBeLessThanOrEqual(burst + gateways * batch);
    for (let tenths = 0; tenths < 600; tenths += 1) {
      wait(100);
      passed += await passing(60);
    }
    expect(passed).toBeGreaterThanOrEqual(burst + 60 * rate - gateways * batch);
    expect(passed).toBeLessThanOrEqual(burst + 60 * rate + gateways * batch);
  });

  it('is unchanged for a client that only one of them serves', async () => {
    const { passing, wait } = setUpShared(rate, 3);
    expect(await passing(1_000, [1])).toBe(burst);
    wait(1_000);
    expect(await passing(1_000, [1])).toBe(rate);
    wait(60_000);
    expect(await passing(1_000, [1])).toBe(burst);
  });

  it('refuses no client that stays below it, however long, on any gateway', async () => {
    const { passing, wait, newWindow } = setUpShared(rate, 2);
    for (let second = 1; second <= 200; second += 1) {
      wait(1_000);
      if (second % 60 === 0) newWindow();
      expect(await passing(rate, second % 7 === 0 ? [1] : [0])).toBe(rate);
    }
    // The rest of the burst, plus the batch that is published late.
    expect(await passing(rate, [1])).toBeGreaterThanOrEqual(rate - batch);
  });

  it('applies to a gateway that receives its first request of the key late', async () => {
    const { passing, wait } = setUpShared(rate, 2);
    let passed = 0;
    for (let second = 0; second < 10; second += 1) {
      passed += await passing(burst, [0]);
      wait(1_000);
    }
    expect(passed).toBe(burst + 9 * rate);
    // Its own bucket was full. The total that it receives with its first batch corrects this.
    expect(await passing(burst, [1])).toBeLessThanOrEqual(rate + batch);
  });

  it('applies to each gateway alone while the counter is unavailable, without a penalty afterwards', async () => {
    const { passing, wait, world } = setUpShared(rate, 2);
    world.away = true;
    expect(await passing(1_000)).toBe(2 * burst);
    for (let second = 0; second < 60; second += 1) {
      wait(1_000);
      expect(await passing(1_000)).toBe(2 * rate);
    }
    world.away = false;
    wait(1_000);
    await passing(4 * batch);
    wait(4_000);
    expect(await passing(rate)).toBe(rate);
  });

  it('does not publish tokens that were returned', async () => {
    const { limits, passing, world } = setUpShared(rate, 2);
    for (let i = 0; i < 10 * burst; i += 1) {
      limits[0]?.take('key');
      limits[0]?.giveBack('key');
    }
    expect(world.asked).toBe(0);
    expect(await passing(1_000, [1])).toBe(burst);
  });

  it('queries the counter once for each batch', async () => {
    const { passing, world } = setUpShared(rate, 1);
    await passing(burst);
    expect(world.asked).toBe(burst / batch);
  });
});
