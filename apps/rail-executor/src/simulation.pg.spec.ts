import { audit } from './testing/audit.js';
import { simulate } from './testing/simulation.js';

describe('executors that crash, with a bank that is late, repeats, refuses and forgets', () => {
  it.each([
    { seed: 1, voids: true, owner: 'payment' },
    { seed: 2, voids: false, owner: 'payment' },
    { seed: 3, voids: true, owner: 'collection' },
    { seed: 4, voids: false, owner: 'collection' },
  ] as const)(
    'never fail an executed $owner, execute one twice, or leave one unfinished ($seed, voids: $voids)',
    async ({ seed, voids, owner }) => {
      const world = await simulate({ seed, voids, owner, payments: 49 });
      try {
        const { findings, endedWith } = await audit(world);
        expect(findings).toEqual([]);
        // The test proves nothing unless payments went wrong.
        expect(endedWith).toMatchObject({
          Completed: expect.any(Number),
          Failed: expect.any(Number),
          FailedInFlight: expect.any(Number),
        });
      } finally {
        await world.close();
      }
    },
  );
});
