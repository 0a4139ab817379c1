/** API keys of an organization of their own, put straight into the event store. */
import { createApiKey, createOrganization, unrefused } from '@pis/commands';
import { postgresEventStore } from '@pis/event-store';
import pg from 'pg';

const by = {
  actor: 'user:bench',
  requestId: null,
  correlationId: 'bench',
  causationId: null,
  traceparent: null,
};

/** So many keys that may read. */
export async function createKeys(connectionString, count) {
  const pool = new pg.Pool({ connectionString, max: 2 });
  const store = postgresEventStore({ pool, listenConnectionString: connectionString });
  try {
    const { organizationId } = unrefused(
      await createOrganization({ store, by }, { name: 'Bench' }),
    );
    const key = { organizationId, type: 'read_only', environment: 'sandbox' };
    const apiKeys = [];
    while (apiKeys.length < count)
      apiKeys.push(unrefused(await createApiKey({ store, by }, key)).apiKey);
    return { organizationId, apiKeys };
  } finally {
    await store.close();
    await pool.end();
  }
}
