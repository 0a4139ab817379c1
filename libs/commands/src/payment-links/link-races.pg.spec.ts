/**
 * A submission and a cancellation of one link in two processes, on the event store in PostgreSQL. Both have read the
 * payment before either appends, so the database decides: exactly one wins.
 */
import { postgresEventStore, sealedStore, StreamStates } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { PaymentLinks } from './payment-links.js';
import { by, linkWorld, submission, visitor } from '../testing/link-world.js';
import { StartingLines } from '../testing/starting-lines.js';

const pairs = 100;
const batch = 10;
const poolMax = 5;
const limitMs = 240_000;

let database: TestDatabase;
let pools: pg.Pool[];
beforeAll(async () => {
  database = await createTestDatabase();
  pools = [openTestPool(database.url, poolMax), openTestPool(database.url, poolMax)];
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

it(
  'of 100 pairs of a submission and a cancellation exactly one of each wins',
  async () => {
    const [pagesPool, boardPool] = pools;
    if (pagesPool === undefined || boardPool === undefined) throw new Error('no pool');
    const keyring = await testKeyringOn(boardPool);
    const lines = new StartingLines();
    const on = (pool: pg.Pool, name: string) =>
      lines.store(sealedStore(postgresEventStore({ pool }), keyring), name);
    const world = await linkWorld({ keyring, store: on(boardPool, 'board') });
    const { options, organizationId, links } = world;
    const states = new StreamStates();
    const pages = new PaymentLinks({ ...options, states, store: on(pagesPool, 'pages') });
    const wins = { submitted: 0, canceled: 0 };
    const race = async (first: 'board' | 'pages') => {
      const { token, paymentId } = await world.linked({ direction: 'OUTBOUND' });
      const streamId = `payment-${paymentId}`;
      lines.at(streamId, first);
      const [submitted, canceled] = await Promise.all([
        pages.submit(token, submission, visitor),
        links.cancel(organizationId, paymentId, by),
      ]);
      const hasSubmitted = !('refused' in submitted);
      expect('refused' in canceled).toBe(hasSubmitted);
      if ('refused' in submitted) expect(submitted.refused).toBe('LINK_NOT_FOUND');
      if ('refused' in canceled)
        expect(canceled).toEqual({ refused: 'NOT_ALLOWED_IN_STATUS', status: 'QUEUED' });
      const { status } = await world.stateOf(paymentId);
      expect(status).toBe(hasSubmitted ? 'QUEUED' : 'CANCELED');
      expect(await world.store.readStream(streamId)).toHaveLength(2);
      wins[hasSubmitted ? 'submitted' : 'canceled'] += 1;
    };
    for (let done = 0; done < pairs; done += batch)
      await Promise.all(
        Array.from({ length: batch }, (_, index) => race(index % 2 === 0 ? 'board' : 'pages')),
      );
    expect(wins.submitted + wins.canceled).toBe(pairs);
    // Both happen, or nothing was raced.
    expect(Math.min(wins.submitted, wins.canceled)).toBeGreaterThan(0);
  },
  limitMs,
);
