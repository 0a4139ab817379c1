import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { WakeLoop, type WakeLoopOptions } from './wake-loop.js';

const limit = { timeoutMs: 20_000, everyMs: 1 };

function loopOf(changes: Partial<WakeLoopOptions>) {
  const reported: string[] = [];
  const loop = new WakeLoop({
    round: () => Promise.resolve(null),
    pollMs: () => 60_000,
    retryInitialMs: 1,
    retryMaxMs: 4,
    onFailure: () => reported.push('failure'),
    onRecovery: () => reported.push('recovery'),
    ...changes,
  });
  return { loop, reported };
}

describe('a loop that waits to be woken', () => {
  it('works once at its start, and again whenever it is woken', async () => {
    let rounds = 0;
    const { loop } = loopOf({ round: () => Promise.resolve(((rounds += 1), null)) });
    loop.start();
    await until(() => rounds === 1, limit);
    loop.wake();
    await until(() => rounds === 2, limit);
    await loop.stop(5_000);
    expect(rounds).toBe(2);
  });

  it('does not miss a wake-up that comes in the middle of a round', async () => {
    let rounds = 0;
    let release: () => void = () => undefined;
    const { loop } = loopOf({
      round: async () => {
        rounds += 1;
        if (rounds === 1) await new Promise<void>((resolve) => (release = resolve));
        return null;
      },
    });
    loop.start();
    await until(() => rounds === 1, limit);
    loop.wake();
    release();
    await until(() => rounds === 2, limit);
    await loop.stop(5_000);
  });

  it('polls without a wake-up, and earlier when a round asks for it', async () => {
    let rounds = 0;
    const polling = loopOf({
      pollMs: () => 1,
      round: () => Promise.resolve(((rounds += 1), null)),
    });
    polling.loop.start();
    await until(() => rounds > 3, limit);
    await polling.loop.stop(5_000);
    let asked = 0;
    const asking = loopOf({ round: () => Promise.resolve((asked += 1) < 3 ? 1 : null) });
    asking.loop.start();
    await until(() => asked === 3, limit);
    await asking.loop.stop(5_000);
  });

  it('polls at the same time as all loops of its interval, and no less often', async () => {
    jest.useFakeTimers();
    try {
      const begun: number[][] = [[], []];
      const [first, second] = begun.map((times) =>
        loopOf({
          pollMs: () => 1_000,
          round: () => Promise.resolve((times.push(performance.now()), null)),
        }),
      );
      first?.loop.start();
      await jest.advanceTimersByTimeAsync(300);
      second?.loop.start();
      await jest.advanceTimersByTimeAsync(4_000);
      const [ofFirst = [], ofSecond = []] = begun;
      expect(ofFirst.length).toBeGreaterThanOrEqual(5);
      expect(ofSecond.slice(1)).toEqual(ofFirst.slice(1));
      await Promise.all([first?.loop.stop(1), second?.loop.stop(1)]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('continues after failures and reports their beginning and end', async () => {
    let rounds = 0;
    const { loop, reported } = loopOf({
      round: () => {
        rounds += 1;
        return rounds < 4 ? Promise.reject(new Error('away')) : Promise.resolve(null);
      },
    });
    loop.start();
    await until(() => reported.includes('recovery'), limit);
    await loop.stop(5_000);
    expect(reported).toEqual(['failure', 'recovery']);
  });

  it('waits longer after each failure in a row, up to its limit', async () => {
    jest.useFakeTimers();
    try {
      const startsMs: number[] = [];
      const round = () => {
        startsMs.push(Date.now());
        return Promise.reject(new Error('away'));
      };
      const { loop } = loopOf({ round, retryInitialMs: 100, retryMaxMs: 300 });
      loop.start();
      await jest.advanceTimersByTimeAsync(1_000);
      await loop.stop(5_000);
      const pausesMs = startsMs.slice(1).map((startMs, index) => startMs - (startsMs[index] ?? 0));
      expect(pausesMs).toEqual([100, 200, 300, 300]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('stops only when the round in flight has ended', async () => {
    let ended = false;
    let release: () => void = () => undefined;
    const started = new Promise<void>((resolveStarted) => {
      const { loop } = loopOf({
        round: async () => {
          resolveStarted();
          await new Promise<void>((resolve) => (release = resolve));
          ended = true;
          return null;
        },
      });
      loop.start();
      stop = () => loop.stop(5_000);
    });
    await started;
    const stopped = stop();
    release();
    expect(await stopped).toBe(true);
    expect(ended).toBe(true);
  });

  it('abandons a round that does not end in time', async () => {
    const { loop } = loopOf({ round: () => new Promise(() => undefined) });
    loop.start();
    expect(await loop.stop(10)).toBe(false);
  });
});

let stop: () => Promise<boolean> = () => Promise.resolve(true);
