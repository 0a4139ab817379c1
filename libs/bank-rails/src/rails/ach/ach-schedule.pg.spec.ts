/** A bank without same-day ACH: `sameDay: []` in the banks file. */
import { type AchService } from '@pis/domain';
import { defaultCutoffs } from '../../calendar/rail-hours.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { atOnceSchedule, cutoffSchedule } from './ach-schedule.js';

const cutoffs = { ...defaultCutoffs, sameDay: [] };
const services: readonly AchService[] = ['standard', 'same_day'];

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

it('a bank without same-day ACH gets files, and what was to settle the same day settles as the rest', async () => {
  const bank = world.open({ schedule: atOnceSchedule(cutoffs) });
  for (const achService of services) await bank.submit(instructionEnding('4321', { achService }));
  await world.settle(bank);
  expect(world.desk.uploads).toHaveLength(1);
  expect((await world.feed()).map(({ type }) => type)).toEqual(['confirmed', 'confirmed']);
});

it('its files of both kinds are built at the standard cutoff', () => {
  const { buildAt, settlement } = cutoffSchedule(cutoffs, 600_000);
  // Noon in New York on a Tuesday.
  const atMs = Date.parse('2026-11-24T17:00:00.000Z');
  for (const service of services) {
    expect(new Date(buildAt(service, atMs)).toISOString()).toBe('2026-11-25T00:50:00.000Z');
    expect(settlement(service, atMs)).toEqual({ effectiveDate: '2026-11-25', sameDayAt: null });
  }
});
