import { RateLimit } from './rate-limit.js';

function setUp(perSecond: number) {
  let nowMs = 1_000;
  const limit = new RateLimit({ perSecond, clock: () => nowMs });
  return {
    /** How many of so many pass. */
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
    check: (id = 'key') => limit.check(id),
    wait: (ms: number) => void (nowMs += ms),
  };
}

describe('a rate limit', () => {
  it('lets a burst of twice the rate through, and then the rate', () => {
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

  it('is of each key for itself', () => {
    const { passing } = setUp(1);
    expect([passing(5), passing(5, 'another'), passing(5)]).toEqual([2, 2, 0]);
  });

  it('can be looked at without being used up', () => {
    const { passing, check, wait } = setUp(1);
    for (let i = 0; i < 10; i += 1) check();
    expect(passing(10)).toBe(2);
    expect(check).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }) as Error);
    wait(1_000);
    check();
  });

  it('of 0 is none', () => {
    const { passing, check } = setUp(0);
    expect(passing(10_000)).toBe(10_000);
    check();
  });
});
