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
