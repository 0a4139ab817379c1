/** The monthly job while the table of movements does not follow the log. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { postgresDocuments } from '@pis/documents';
import { memoryEventStore, systemContext } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { directoryProjection, ProjectionRunner } from '@pis/read-models';
import type pg from 'pg';
import { type FailedStatement, generateDueStatements } from './generation.js';
import * as past from './testing/past-log.js';

const store = memoryEventStore();
let database: TestDatabase;
let pool: pg.Pool;
let directory: ProjectionRunner;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  directory = new ProjectionRunner({ projection: directoryProjection, store, pool });
  directory.start();
});
afterAll(async () => {
  await directory?.stop();
  await pool?.end();
  await database?.drop();
});

it('fails once, and not for each originator, of whom each would be told', async () => {
  const party = { organizationId: randomUUID(), originatorId: randomUUID() };
  await past.addParties(store, party);
  await past.pay(store, party, 7, 'OUTBOUND', '2026-10-05T00:00:00.000Z');
  await directory.waitFor(await store.lastPosition(), 60_000);
  const failures: FailedStatement[] = [];
  const patience = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  try {
    const round = generateDueStatements({
      ...{ store, pool, documents: postgresDocuments(pool, await testKeyringOn(pool)) },
      ...{ by: systemContext('test'), now: () => new Date('2026-11-01T12:00:00.000Z') },
      signal: new AbortController().signal,
      onFailed: (failure) => Promise.resolve(void failures.push(failure)),
      onProblem: () => undefined,
    });
    await expect(round).rejects.toThrow('the projection movements is behind');
  } finally {
    patience.mockRestore();
  }
  expect(failures).toEqual([]);
});
