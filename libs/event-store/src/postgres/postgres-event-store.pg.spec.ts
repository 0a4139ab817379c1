import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import pg from 'pg';
import type { EventStore } from '../port.js';
import { sharedLog } from '../shared-log/shared-log.js';
import { eventStoreConformance } from '../testing/event-store-conformance.js';
import { withSmallPartitions } from '../testing/small-partitions.js';
import { postgresEventStore, postgresEventStoreLimits } from './postgres-event-store.js';

const { partitionEvents: ordinary } = postgresEventStoreLimits;
const asItIs = (store: EventStore) => store;

describe.each<[string, (store: EventStore) => EventStore, number]>([
  ['PostgreSQL', asItIs, ordinary],
  ['PostgreSQL, through one reading of the log', sharedLog, ordinary],
  // Every test crosses them, and so does every larger append.
  ['PostgreSQL, with a new partition every few events', asItIs, 15],
])('%s', (name, over, partitionEvents) => {
  eventStoreConformance(name, async () => {
    const database = await createTestDatabase();
    if (partitionEvents !== ordinary) await withSmallPartitions(database.url, partitionEvents);
    const pools: pg.Pool[] = [];
    const stores: EventStore[] = [];
    // A pool each: connections, batches and locks as between processes.
    const open = () => {
      const pool = openTestPool(database.url, 5);
      pools.push(pool);
      const store = over(postgresEventStore({ pool, partitionEvents }));
      stores.push(store);
      return store;
    };
    const operator = new pg.Client({ connectionString: database.url });
    await operator.connect();
    return {
      store: open(),
      another: open,
      // The listening connections too.
      cutConnections: async () => {
        await operator.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
      },
      fresh: true,
      end: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await Promise.all(pools.map((pool) => pool.end()));
        await operator.end();
        await database.drop();
      },
    };
  });
});
