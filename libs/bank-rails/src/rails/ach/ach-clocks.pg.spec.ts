/** A process with a wrong clock builds no file: its dates would be wrong, and the bank would settle by them. */
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

it.each([2 * 3_600_000, -2 * 3_600_000])(
  'entries wait while the clock is off by %i ms, and another process puts them into a file',
  async (offMs) => {
    await world.submit('4321');
    const wrong = world.open({ wallClock: () => Date.now() + offMs });
    await expect(world.settle(wrong)).rejects.toThrow('see PisClockHoldsPayments');
    expect(world.desk.uploads).toEqual([]);
    expect(await world.count('ach_entries', "status = 'waiting'")).toBe(1);
    await world.settle();
    expect(world.desk.uploads).toHaveLength(1);
  },
);
