import { jest } from '@jest/globals';
import { Bell } from '@pis/postgres';
import { TableWatch } from './table-watch.js';

const limits = { pollMaxMs: 2_000, busyForMs: 60_000, tellEveryMs: 10_000 };
const idleMs = 15_000;

describe('what a dispatcher does about the table that all share', () => {
  let told: number;
  const failures: unknown[] = [];
  const watchWith = (wakeUp?: { bell: Bell; idleMs: () => number }) =>
    new TableWatch({
      ...{ limits, wakeUp },
      tellOthers() {
        told += 1;
        return told === 1 ? Promise.reject(new Error('away')) : Promise.resolve();
      },
      onFailure: (error) => failures.push(error),
    });
  const woken = () => ({ bell: new Bell(), idleMs: () => idleMs });

  beforeEach(() => {
    told = 0;
    jest.useFakeTimers();
  });
  afterEach(() => jest.useRealTimers());

  it('it looks seldom, and often for a minute after there was something', () => {
    const watch = watchWith(woken());
    expect([watch.pollMs(), watch.pollIdleMs()]).toEqual([idleMs, idleMs]);
    watch.noticed();
    // It may have begun a long wait.
    expect([watch.pollMs(), watch.pollIdleMs(), watch.bell.rung]).toEqual([2_000, idleMs, 1]);
    jest.advanceTimersByTime(59_000);
    watch.noticed();
    jest.advanceTimersByTime(59_000);
    expect([watch.pollMs(), watch.bell.rung]).toEqual([2_000, 1]);
    jest.advanceTimersByTime(2_000);
    expect(watch.pollMs()).toBe(idleMs);
  });

  it('it looks often where nobody tells, and tells nobody', () => {
    const watch = watchWith();
    watch.noticed();
    watch.tellOthers();
    jest.advanceTimersByTime(limits.tellEveryMs);
    watch.stop();
    expect([watch.pollMs(), watch.pollIdleMs(), watch.bell.rung, told]).toEqual([
      2_000, 2_000, 0, 0,
    ]);
  });

  it('it tells others at once, of all that follows a little later, and of the rest when it stops', async () => {
    const watch = watchWith(woken());
    const tellOften = () => {
      for (let times = 0; times < 5; times += 1) watch.tellOthers();
    };
    tellOften();
    await jest.advanceTimersByTimeAsync(0);
    expect(told).toBe(1);
    expect(failures).toEqual([new Error('away')]);
    tellOften();
    jest.advanceTimersByTime(9_999);
    expect(told).toBe(1);
    jest.advanceTimersByTime(1);
    expect(told).toBe(2);
    tellOften();
    watch.stop();
    expect(told).toBe(3);
    jest.advanceTimersByTime(60_000);
    watch.stop();
    expect(told).toBe(3);
  });
});
