import { backoffMs, classify, nextAttemptAt } from './retry-schedule.js';

const policy = { initialMs: 30_000, maxMs: 3_600_000 };
const hourMs = 3_600_000;

describe('A delivery that failed is tried again', () => {
  it('after 30 seconds, then after twice as long each time, at most an hour', () => {
    const pauses = Array.from({ length: 10 }, (_, i) => backoffMs(i + 1, policy) / 1000);
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });

  it('at a cap that no number of attempts exceeds', () => {
    expect(backoffMs(5_000, policy)).toBe(hourMs);
  });

  it('until the window ends, counted over all attempts of a receiver that never answers well', () => {
    const start = Date.parse('2026-11-21T00:00:00.000Z');
    const windowEndsAt = new Date(start + 72 * hourMs);
    const attemptsAt = [start];
    for (;;) {
      const last = new Date(attemptsAt.at(-1) ?? NaN);
      const next = nextAttemptAt(attemptsAt.length, last, windowEndsAt, policy);
      if (next === null) break;
      attemptsAt.push(next.getTime());
    }
    // Seven doublings take 63.5 min, then one an hour.
    expect(attemptsAt).toHaveLength(1 + 7 + 70);
    expect(attemptsAt.at(-1)).toBeLessThanOrEqual(windowEndsAt.getTime());
  });

  it('at the very end of the window, and not a millisecond later', () => {
    const now = new Date(0);
    expect(nextAttemptAt(1, now, new Date(30_000), policy)).toEqual(new Date(30_000));
    expect(nextAttemptAt(1, now, new Date(29_999), policy)).toBeNull();
  });
});

describe('The status of the answer decides', () => {
  it.each([200, 201, 204, 299])('%i: delivered', (status) => {
    expect(classify(status)).toBe('success');
  });
  it.each([400, 401, 403, 404, 410, 422, 451, 499])('%i: refused for good', (status) => {
    expect(classify(status)).toBe('permanent');
  });
  it.each([null, 100, 301, 302, 307, 308, 408, 425, 429, 500, 502, 503, 599, 600])(
    '%p: tried again',
    (status) => {
      expect(classify(status)).toBe('retry');
    },
  );
});
