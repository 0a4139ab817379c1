import { StoreUnavailable } from '@pis/event-store';
import { memoryTables } from '../testing/link-world.js';
import type { NewLinkAccess } from './link-ports.js';
import { RepeatedOpens } from './repeated-opens.js';

const at = '2026-11-23T15:00:00.000Z';
const later = '2026-11-23T15:00:20.000Z';
const access: NewLinkAccess = {
  ...{ accessId: 'a-1', paymentId: 'p-1', organizationId: 'o-1', kind: 'open', at },
  ...{ actor: null, outcome: null, sealed: null },
};

it('counts only opens of rows that are recorded', async () => {
  const { log, accesses } = memoryTables();
  const repeats = new RepeatedOpens(log, () => undefined);
  expect(repeats.count(access.accessId, at)).toBe(false);
  await log.record(access);
  repeats.add(access);
  expect([repeats.count('a-1', later), repeats.count('a-1', at)]).toEqual([true, true]);
  await repeats.flush();
  expect(accesses).toMatchObject([{ count: 3, at, lastAt: later }]);
});

it('writes the counts by itself, and keeps those that cannot be written', async () => {
  const { log, accesses } = memoryTables();
  const written = Promise.withResolvers<void>();
  let failures = 0;
  const errors: unknown[] = [];
  const recordRepeats: typeof log.recordRepeats = async (counted) => {
    failures += 1;
    if (failures === 1) throw new StoreUnavailable('away');
    await log.recordRepeats(counted);
    written.resolve();
  };
  const repeats = new RepeatedOpens({ recordRepeats }, (error) => errors.push(error), 1);
  await log.record(access);
  repeats.add(access);
  repeats.count('a-1', later);
  await written.promise;
  expect(accesses).toMatchObject([{ count: 2, lastAt: later }]);
  expect(errors).toEqual([expect.any(StoreUnavailable)]);
});
