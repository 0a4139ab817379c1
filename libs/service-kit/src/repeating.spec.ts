import { jest } from '@jest/globals';
import { Bell, pause } from '@pis/postgres';
import { Repeating } from './repeating.js';

describe('A repeated task', () => {
  it('continues after failed rounds, with the pause that the failure asks for', async () => {
    const failures: unknown[] = [];
    const succeeded = Promise.withResolvers<undefined>();
    let rounds = 0;
    const repeating = new Repeating({
      round: () => {
        rounds += 1;
        if (rounds <= 2) return Promise.reject(new Error(`round ${rounds}`));
        succeeded.resolve(undefined);
        return Promise.resolve(3_600_000);
      },
      failed: (error) => {
        failures.push(error);
        return 1;
      },
    });
    repeating.start();
    await succeeded.promise;
    await repeating.stop();
    expect(rounds).toBe(3);
    expect(failures).toEqual([new Error('round 1'), new Error('round 2')]);
  });

  describe('that fails again and again', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    it('pauses ever longer, up to 5 s, until a round succeeds', async () => {
      const roundsAtMs: number[] = [];
      let isAway = true;
      const repeating = new Repeating({
        round: () => {
          roundsAtMs.push(performance.now() - startedMs);
          return isAway ? Promise.reject(new Error('away')) : Promise.resolve(1_000);
        },
        failed: () => 1_000,
      });
      const startedMs = performance.now();
      repeating.start();
      await jest.advanceTimersByTimeAsync(22_000);
      expect(roundsAtMs).toEqual([0, 1_000, 3_000, 7_000, 12_000, 17_000, 22_000]);
      isAway = false;
      await jest.advanceTimersByTimeAsync(5_000);
      isAway = true;
      await jest.advanceTimersByTimeAsync(2_000);
      expect(roundsAtMs.slice(7)).toEqual([27_000, 28_000, 29_000]);
      const stopped = repeating.stop();
      await jest.runAllTimersAsync();
      await stopped;
    });

    it('pauses no longer when a round has worked for long before it failed', async () => {
      const roundsAtMs: number[] = [];
      const repeating = new Repeating({
        round: async () => {
          roundsAtMs.push(performance.now() - startedMs);
          await pause(61_000);
          throw new Error('away');
        },
        failed: () => 1_000,
      });
      const startedMs = performance.now();
      repeating.start();
      await jest.advanceTimersByTimeAsync(190_000);
      expect(roundsAtMs).toEqual([0, 62_000, 124_000, 186_000]);
      const stopped = repeating.stop();
      await jest.runAllTimersAsync();
      await stopped;
    });
  });

  it('begins its next round when its bell rings, also during a round', async () => {
    const bell = new Bell();
    const rounds: (() => void)[] = [];
    const repeating = new Repeating({
      round: () => new Promise((resolve) => rounds.push(() => resolve(3_600_000))),
      failed: () => 0,
      bell,
    });
    const next = async (count: number) => {
      while (rounds.length < count) await new Promise(setImmediate);
    };
    repeating.start();
    await next(1);
    bell.ring();
    rounds[0]?.();
    await next(2);
    rounds[1]?.();
    await new Promise(setImmediate);
    bell.ring();
    await next(3);
    const stopped = repeating.stop();
    rounds[2]?.();
    await stopped;
    expect(rounds).toHaveLength(3);
  });

  it('is not repeated sooner after a failure because its bell rings', async () => {
    const bell = new Bell();
    const failed = Promise.withResolvers<undefined>();
    let rounds = 0;
    const repeating = new Repeating({
      round: () => {
        rounds += 1;
        return Promise.reject(new Error('away'));
      },
      failed: () => {
        failed.resolve(undefined);
        return 3_600_000;
      },
      bell,
    });
    repeating.start();
    await failed.promise;
    for (let rings = 0; rings < 10; rings += 1) {
      bell.ring();
      await new Promise(setImmediate);
    }
    await repeating.stop();
    expect(rounds).toBe(1);
  });

  it('can be stopped, and its current round is awaited', async () => {
    const round = Promise.withResolvers<number>();
    let signal: AbortSignal | null = null;
    const repeating = new Repeating({
      round: (given) => {
        signal = given;
        return round.promise;
      },
      failed: () => 0,
    });
    repeating.start();
    let isStopped = false;
    const stopped = repeating.stop().then(() => (isStopped = true));
    expect(signal).toMatchObject({ aborted: true });
    await new Promise(setImmediate);
    expect(isStopped).toBe(false);
    round.resolve(0);
    await stopped;
  });
});
