import { audit } from './testing/audit.js';
import { simulate } from './testing/simulation.js';

describe('executors that crash, with a bank that is late, doubles, refuses and forgets', () => {
  it.each([
    { seed: 1, voids: true },
    { seed: 2, voids: false },
  ])(
    'never fail what is executed, execute twice, or leave a payment standing ($seed, voids: $voids)',
    async ({ seed, voids }) => {
      const world = await simulate({ seed, voids, payments: 49 });
      try {
        const { findings, endedWith } = await audit(world);
        expect(findings).toEqual([]);
        // It would prove nothing if nothing had happened.
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
