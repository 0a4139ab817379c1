/** For specs of rebuilds: a store, a database of its own, and the projector of payments on both. */
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { paymentsProjection } from '../payments.projection.js';
import { ProjectionRunner } from '../projection-runner.js';
import type { Projection, ReadTable } from '../projection.js';

const connectionsMax = 8;
const caughtUpWithinMs = 30_000;

export interface RebuildScene {
  readonly databaseUrl: string;
  /** A spec may replace it: rebuilds then read another log than the projector. */
  store: EventStore;
  readonly pool: pg.Pool;
  /** Not started yet. */
  readonly runner: ProjectionRunner;
  /** Another projector of payments, on this store. Not started, and its caller stops it. */
  createRunner(store: EventStore): ProjectionRunner;
  /** Resolves when the projector has read the whole log. Rejects when that takes too long. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

export async function rebuildScene(): Promise<RebuildScene> {
  const database = await createTestDatabase();
  const store = memoryEventStore();
  const pool = openTestPool(database.url, connectionsMax);
  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
  return {
    databaseUrl: database.url,
    store,
    pool,
    runner,
    createRunner: (from) =>
      new ProjectionRunner({ projection: paymentsProjection, store: from, pool }),
    async caughtUp() {
      if (!(await runner.waitFor(await store.lastPosition(), caughtUpWithinMs)))
        throw new Error('the projector has not caught up in time');
    },
    async close() {
      await runner.stop();
      await pool.end();
      await database.drop();
    },
  };
}

export interface ShadowWrite {
  /** The connection that writes. */
  readonly client: pg.ClientBase;
  /** Events in the write. */
  readonly events: number;
  /** The number of the write, from 1. */
  readonly write: number;
}

/** The projection of payments, with `hook` called before each write to the shadow of its first table. */
export function hooked(hook: (write: ShadowWrite) => Promise<void>): Projection {
  let writes = 0;
  const tables = paymentsProjection.tables.map(
    (table): ReadTable => ({
      name: table.name,
      async write(client, target, events) {
        const isFirst = table.name === 'payments' && target !== table.name;
        if (isFirst) await hook({ client, events: events.length, write: ++writes });
        await table.write(client, target, events);
      },
    }),
  );
  return { ...paymentsProjection, tables };
}
