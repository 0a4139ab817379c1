/** As passed-over.pg.spec.ts, with the log in EventStoreDB beside the events of other systems. */
import { randomUUID } from 'node:crypto';
import type { DomainEvent } from '@pis/domain';
import { ids } from '@pis/domain/testing';
import type { EventStore } from '@pis/event-store';
import { eventStoreDbEventStore } from '@pis/event-store/eventstoredb';
import { startEventStoreDbStandIn } from '@pis/event-store/testing';
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { eventsProjection } from './events.projection.js';
import { hasReached } from './projection-reach.js';
import { ProjectionRunner } from './projection-runner.js';
import { appendEvents, queuePayment } from './testing.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;
const atEnd = closeAfterEach();

it('a projection makes up for what the previous release passed over, page by page and after each rollback', async () => {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const pool = openTestPool(database.url, 5);
  atEnd(() => pool.end());
  const server = await startEventStoreDbStandIn();
  atEnd(() => server.stop());
  const store = eventStoreDbEventStore({ connectionString: server.url, pageEventsMax: 2 });
  atEnd(() => store.close());
  const ofOthers = () => server.write('other-1', { id: randomUUID(), type: 'Other', data: '{}' });

  await queuePayment(store, at);
  await ofOthers();
  await runToTheEnd(store, pool);
  const all: string[] = [];
  for (const rollback of [1, 2]) {
    for (let n = 0; n < 3; n += 1) {
      await ofOthers();
      all.push(await generateStatement(store));
    }
    await ofOthers();
    await previousReaderReachesTheEnd(store, pool);
    await ofOthers();
    const end = await store.lastPosition();
    expect(await hasReached({ pool, store }, 'events', end)).toBe(false);
    const pages = await runToTheEnd(store, pool);
    expect(pages).toBeGreaterThan(2);
    expect(await hasReached({ pool, store }, 'events', end)).toBe(true);
    expect(await statements(pool)).toEqual(all);
    expect(all).toHaveLength(3 * rollback);
  }
  // Nothing is left to be made up for.
  expect(await runToTheEnd(store, pool)).toBe(0);
});

/** In pages of two events, also of other systems. @returns pages read of what was passed over */
async function runToTheEnd(store: EventStore, pool: pg.Pool): Promise<number> {
  let pages = 0;
  const small: EventStore = {
    ...store,
    readLog: (options) => {
      pages += 1;
      return store.readLog({ ...options, pageMax: 2 });
    },
  };
  const end = await store.lastPosition();
  const runner = new ProjectionRunner({ projection: eventsProjection, store: small, pool });
  runner.start();
  try {
    expect(await runner.waitFor(end, timeoutMs)).toBe(true);
    await until(() => hasReached({ pool, store }, 'events', end), { timeoutMs });
  } finally {
    await runner.stop();
  }
  return pages;
}

async function previousReaderReachesTheEnd(store: EventStore, pool: pg.Pool): Promise<void> {
  const last = await store.lastEvent(await store.lastPosition());
  await pool.query(
    `UPDATE projection_checkpoints SET position = $2, event_id = $3, stream_id = $4, revision = $5
      WHERE name = $1`,
    [eventsProjection.name, last?.position, last?.id, last?.streamId, last?.revision],
  );
}

/** @returns the name of its stream */
async function generateStatement(store: EventStore): Promise<string> {
  const statementId = randomUUID();
  const { organization: organizationId, originator: originatorId } = ids;
  const data = {
    ...{ statementId, organizationId, originatorId, periodYear: 2026, periodMonth: 10 },
    ...{ sizeBytes: 4, sha256: 'a'.repeat(64) },
  };
  const generated = { type: 'StatementGenerated', at, data } as unknown as DomainEvent;
  await appendEvents(store, `statement-${statementId}`, [generated]);
  return `statement-${statementId}`;
}

/** In the order of the log. */
async function statements(pool: pg.Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ streamId: string }>(
    `SELECT stream_id AS "streamId" FROM integration_events
      WHERE stream_id LIKE 'statement-%' ORDER BY position`,
  );
  return rows.map(({ streamId }) => streamId);
}
