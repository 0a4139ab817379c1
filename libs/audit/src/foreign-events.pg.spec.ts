import { randomUUID } from 'node:crypto';
import { type EventStore, EventsLost, postgresEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { AuditLog } from './audit-log.js';
import { noteSigner } from './note.js';
import { readTree } from './tree-store.js';

it('the audit log reads on behind its last event when the log has lost the place behind events of other systems', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 4);
  const store = postgresEventStore({ pool });
  const append = () =>
    store.append(`payment-${randomUUID()}`, 'noStream', [
      {
        ...{ id: randomUUID(), type: 'PaymentQueued', data: {} },
        metadata: {
          ...{ at: '2026-03-01T00:00:00.000Z', schemaVersion: 1, actor: 'system:test' },
          ...{ requestId: null, correlationId: randomUUID(), causationId: null },
          ...{ traceparent: null, previousHash: null },
        },
      },
    ]);
  let isLost = false;
  // As EventStoreDB answers: `~` stands for events that are not ours.
  const mixed: EventStore = {
    ...store,
    readLog: async ({ after, ...options }) => {
      if (isLost && after.endsWith('~')) throw new EventsLost(after);
      const ours = after.replace('~', '');
      const page = await store.readLog({ ...options, after: ours });
      return page.events.length === 0 ? { ...page, position: `${ours}~` } : page;
    },
  };
  try {
    const audit = new AuditLog({ store: mixed, pool, signer: noteSigner(Buffer.alloc(32, 7)) });
    // At last it has looked behind its own checkpoint, too.
    const catchUp = async () => {
      for (let times = 0; times < 3; times += 1) while (await audit.round());
    };
    await append();
    await catchUp();
    isLost = true;
    await append();
    await expect(audit.round()).rejects.toThrow(EventsLost);
    while (await audit.round());
    expect((await readTree(pool))?.size).toBe(2);
  } finally {
    await store.close();
    await pool.end();
    await database.drop();
  }
});
