import {
  attemptInWindow,
  backoffMs,
  classify,
  nextAttemptAt,
  retryAfterMs,
} from './retry-schedule.js';

const policy = { initialMs: 30_000, maxMs: 3_600_000 };
const hourMs = 3_600_000;

/** The pause in ms after a failed attempt, or null when there is none. */
function pauseMs(
  changes: Partial<Parameters<typeof nextAttemptAt>[0]> = {},
  rules = policy,
): number | null {
  const failed = {
    attempt: 1,
    now: new Date(0),
    windowEndsAt: new Date(72 * hourMs),
    retryAfterMs: null,
    random: 0,
    ...changes,
  };
  return nextAttemptAt(failed, rules)?.getTime() ?? null;
}

describe('A delivery that failed is tried again', () => {
  it('after 30 seconds, then after twice as long each time, at most an hour', () => {
    const pauses = Array.from({ length: 10 }, (_, i) => backoffMs(i + 1, policy) / 1000);
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
  });

  it('at a cap, whatever the number of attempts', () => {
    expect(backoffMs(5_000, policy)).toBe(hourMs);
  });

  it('until the window ends, counted over all attempts of a receiver that never succeeds', () => {
    const start = Date.parse('2026-11-21T00:00:00.000Z');
    const windowEndsAt = new Date(start + 72 * hourMs);
    const attemptsAt = [start];
    for (;;) {
      const last = new Date(attemptsAt.at(-1) ?? NaN);
      const next = nextAttemptAt(
        { attempt: attemptsAt.length, now: last, windowEndsAt, retryAfterMs: null, random: 0 },
        policy,
      );
      if (next === null) break;
      attemptsAt.push(next.getTime());
    }
    // Seven doublings take 63.5 min, then one an hour.
    expect(attemptsAt).toHaveLength(1 + 7 + 70);
    expect(attemptsAt.at(-1)).toBeLessThanOrEqual(windowEndsAt.getTime());
  });

  it('at the very end of the window, and not a millisecond later', () => {
    expect(pauseMs({ windowEndsAt: new Date(30_000) })).toBe(30_000);
    expect(pauseMs({ windowEndsAt: new Date(29_999) })).toBeNull();
  });

  it('up to a tenth later and never earlier, so that many are not retried at once', () => {
    for (const random of [0, 0.001, 0.5, 0.999_999])
      for (let attempt = 1; attempt <= 100; attempt++) {
        const contract = backoffMs(attempt, policy);
        const pause = pauseMs({ attempt, random });
        expect(pause).toBeGreaterThanOrEqual(contract);
        expect(pause).toBeLessThanOrEqual(Math.min(hourMs, Math.ceil(contract * 1.1)));
      }
    expect(pauseMs({ random: 0.5 })).toBe(31_500);
  });

  it('inside the window, whatever the jitter adds', () => {
    expect(pauseMs({ random: 0.9, windowEndsAt: new Date(30_001) })).toBe(30_000);
    expect(pauseMs({ random: 0.9, windowEndsAt: new Date(91_000) })).toBe(31_000);
  });
});

describe('A delivery that is sent again after it had finished', () => {
  const inWindow = (attempts: number, seconds: number) =>
    attemptInWindow(attempts, seconds * 1_000, policy);

  it('is retried as if it were new: after 30 seconds, then after twice as long each time', () => {
    const made = 80;
    // Its attempts in the new window begin at 0, 30, 90, 210 … seconds.
    const pauses = [0, 30, 90, 210, 450, 930, 1_890, 3_810, 7_410].map(
      (seconds, index) => backoffMs(inWindow(made + index, seconds), policy) / 1_000,
    );
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
  });

  it('in its first window keeps its attempt number, however late the attempt was', () => {
    let seconds = 0;
    for (let attempt = 1; attempt <= 100; attempt += 1) {
      const expected = backoffMs(attempt, policy);
      for (const late of [0, 1, 3_600, 100_000])
        expect(backoffMs(inWindow(attempt, seconds + late), policy)).toBe(expected);
      seconds += expected / 1_000;
    }
  });
});

describe('A receiver that asks for time', () => {
  it('gets the requested time or the usual pause, whichever is longer', () => {
    expect(pauseMs({ retryAfterMs: 120_000 })).toBe(120_000);
    expect(pauseMs({ retryAfterMs: 5_000 })).toBe(30_000);
    expect(pauseMs({ retryAfterMs: 0 })).toBe(30_000);
  });

  it('gets an hour at most, whatever it asks for and whichever attempt it was', () => {
    for (const attempt of [1, 5, 8, 80])
      for (const random of [0, 0.5, 0.999_999]) {
        expect(pauseMs({ attempt, random, retryAfterMs: hourMs - 1 })).toBeLessThanOrEqual(hourMs);
        for (const retryAfterMs of [hourMs, hourMs + 1, 2 * hourMs, 1_000 * hourMs, Infinity])
          expect(pauseMs({ attempt, random, retryAfterMs })).toBe(hourMs);
      }
    expect(pauseMs({ retryAfterMs: 60_000, random: 0.5 })).toBe(63_000);
  });

  it.each([1_000, 30_000, 45_000, 60_000, hourMs])('gets no more than a cap of %i ms', (maxMs) => {
    const capped = { initialMs: Math.min(30_000, maxMs), maxMs };
    for (const retryAfterMs of [maxMs - 1, maxMs, maxMs + 1, 2 * hourMs])
      for (const random of [0, 0.9])
        expect(pauseMs({ retryAfterMs, random }, capped)).toBe(
          retryAfterMs < maxMs && random === 0 ? Math.max(retryAfterMs, capped.initialMs) : maxMs,
        );
  });

  it('beyond the end of the window gets one last attempt a minute before the end', () => {
    const windowEndsAt = new Date(40 * 60_000);
    expect(pauseMs({ retryAfterMs: 2 * hourMs, windowEndsAt })).toBe(39 * 60_000);
    expect(pauseMs({ retryAfterMs: 2 * hourMs, windowEndsAt: new Date(31_000) })).toBe(30_000);
    expect(pauseMs({ retryAfterMs: 2 * hourMs, windowEndsAt: new Date(29_999) })).toBeNull();
  });

  const now = new Date('2026-11-21T08:49:37.500Z');
  it.each([
    ['120', 120_000],
    [' 120 ', 120_000],
    ['0', 0],
    ['Sat, 21 Nov 2026 08:50:37 GMT', 59_500],
    ['Sat, 21 Nov 2026 08:00:00 GMT', 0],
    ['Saturday, 21-Nov-26 08:50:37 GMT', 59_500],
    ['Sat Nov 21 08:50:37 2026 GMT', 59_500],
    ['7200', 2 * hourMs],
    ['99999999999999999999', 1e23],
    ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59) - now.getTime()],
  ])('asks by %p', (text, expected) => {
    expect(retryAfterMs(text, now)).toBe(expected);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', 'soon', '2026-11-21', 'NaN', 'Sat, never'])(
    'asks for nothing by %p',
    (text) => expect(retryAfterMs(text, now)).toBeNull(),
  );

  it('asks for nothing when it is absent', () => {
    expect(retryAfterMs(null, now)).toBeNull();
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
