/**
 * Two people decide on one approval in two processes, on the event store in PostgreSQL. Both have read the approval
 * before either appends, so the database decides: exactly one wins, and never are there two payments.
 */
import { type EventStore, postgresEventStore, sealedStore } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { approvalWorld } from '../testing/approval-world.js';
import { by } from '../testing/link-world.js';
import { StartingLines } from '../testing/starting-lines.js';

const pairs = 40;
const batch = 10;
const poolMax = 5;
const limitMs = 240_000;

let database: TestDatabase;
let pools: [pg.Pool, pg.Pool];
beforeAll(async () => {
  database = await createTestDatabase();
  pools = [openTestPool(database.url, poolMax), openTestPool(database.url, poolMax)];
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

const decided = { refused: 'APPROVAL_DECIDED' };

it.each(['grant', 'reject', 'withdraw'] as const)(
  'of 40 pairs of an approval and another decision (%s) exactly one of each wins',
  async (rival) => {
    const [here, there] = pools;
    const keyring = await testKeyringOn(here);
    const lines = new StartingLines();
    const on = (pool: pg.Pool, name: string): EventStore =>
      lines.store(sealedStore(postgresEventStore({ pool }), keyring), name);
    const world = await approvalWorld({ keyring, store: on(here, 'here') });
    const other = world.processOn(on(there, 'there'));
    const { organizationId, ada, cleo } = world;
    const rivals = {
      grant: (id: string) => other.grant(organizationId, id, cleo, by),
      reject: (id: string) => other.reject(organizationId, id, { ...cleo, reason: 'no' }, by),
      withdraw: (id: string) => other.withdraw(organizationId, id, ada, by),
    };
    const wins = { here: 0, there: 0 };
    const race = async (first: 'here' | 'there') => {
      const approvalId = await world.waiting();
      lines.at(`approval-${approvalId}`, first);
      const [granted, rivaling] = await Promise.all([
        world.grant(approvalId),
        rivals[rival](approvalId),
      ]);
      const isGranted = !('refused' in granted);
      expect(isGranted ? rivaling : granted).toEqual(decided);
      expect('refused' in rivaling).toBe(isGranted);
      wins[isGranted ? 'here' : 'there'] += 1;
      const isPaid = isGranted || rival === 'grant';
      expect(await world.store.readStream(`payment-${approvalId}`)).toHaveLength(isPaid ? 1 : 0);
      const decisions = await world.store.readStream(`approval-${approvalId}`);
      expect(decisions).toHaveLength(isPaid ? 3 : 2);
    };
    for (let done = 0; done < pairs; done += batch)
      await Promise.all(
        Array.from({ length: batch }, (_, index) => race(index % 2 === 0 ? 'here' : 'there')),
      );
    expect(wins.here + wins.there).toBe(pairs);
    // Both happen, or nothing was raced.
    expect(Math.min(wins.here, wins.there)).toBeGreaterThan(0);
  },
  limitMs,
);
