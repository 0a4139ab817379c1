import { RefreshPace } from './refresh-pace.js';

/** Time that passes when the test says so. Each read takes `tookMs`. */
function world(settleMs: number, tookMs = 0) {
  let nowMs = 0;
  const timers = new Map<() => void, number>();
  const readsAtMs: number[] = [];
  const after = (ms: number, work: () => void) => {
    timers.set(work, nowMs + ms);
    return () => timers.delete(work);
  };
  const pace = new RefreshPace({
    read: () => {
      readsAtMs.push(nowMs);
      return new Promise((resolve) => after(tookMs, resolve));
    },
    ...{ waitMs: 250, pauseMs: 1_000, settleMs, clock: () => nowMs, after },
  });
  const pass = async (ms: number, each: () => void = () => undefined) => {
    for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 50) {
      each();
      for (const [work, atMs] of timers)
        if (atMs <= nowMs && timers.delete(work)) {
          work();
          await Promise.resolve();
        }
      await new Promise(setImmediate);
    }
  };
  return { pace, pass, readsAtMs };
}

it('follows a change soon, once', async () => {
  const { pace, pass, readsAtMs } = world(0);
  pace.ask();
  pace.ask();
  await pass(10_000);
  expect(readsAtMs).toEqual([250]);
});

it('reads at intervals while changes never stop', async () => {
  const { pace, pass, readsAtMs } = world(3_000);
  await pass(4_000, () => pace.ask());
  expect(readsAtMs.length).toBeGreaterThanOrEqual(3);
  expect(readsAtMs.length).toBeLessThanOrEqual(5);
});

it('lets a slow read end, and rests as long as it took', async () => {
  const { pace, pass, readsAtMs } = world(0, 5_000);
  await pass(20_000, () => pace.ask());
  const pauses = readsAtMs.slice(1).map((atMs, index) => atMs - (readsAtMs[index] ?? 0));
  expect(pauses.length).toBeGreaterThanOrEqual(1);
  for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(10_000);
});

it('reads once more after a change whose followers come later', async () => {
  const { pace, pass, readsAtMs } = world(3_000);
  pace.ask();
  await pass(20_000);
  expect(readsAtMs[0]).toBe(250);
  expect(readsAtMs.at(-1)).toBeGreaterThanOrEqual(3_000);
  expect(readsAtMs.length).toBeLessThanOrEqual(4);
});

it('reads no more after it was stopped, until it is asked again', async () => {
  const { pace, pass, readsAtMs } = world(0, 2_000);
  pace.ask();
  await pass(1_000);
  pace.ask();
  pace.stop();
  await pass(10_000);
  expect(readsAtMs).toEqual([250]);
  pace.ask();
  await pass(1_000);
  expect(readsAtMs).toHaveLength(2);
});
