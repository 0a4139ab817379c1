import { ChangeLimit, changesPerHourMax } from './change-limit.js';

it('limits the changes of each in an hour', () => {
  let nowMs = 0;
  const limit = new ChangeLimit(true, changesPerHourMax, () => nowMs);
  for (let change = 1; change <= changesPerHourMax; change += 1) limit.take('a');
  nowMs += 3_599_000;
  expect(() => limit.take('a')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', quota: { remaining: 0, waitSeconds: 1 } }),
  );
  limit.take('b');
  nowMs += 1_000;
  limit.take('a');
});
