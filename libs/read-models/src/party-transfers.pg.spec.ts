/** What the erasure of a party knows of its payments. */
import { payment as payments, type PaymentCommand } from '@pis/domain';
import { ids, paymentCommands, paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { PartyTransfers } from './party-transfers.js';
import { ProjectionRunner } from './projection-runner.js';
import { paymentsProjection } from './payments.projection.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const createdAt = '2026-01-02T12:00:00.000Z';
const blockedAt = '2026-02-01T12:00:00.000Z';

it('a payment that was blocked long after its creation is kept from when it was blocked', async () => {
  const store = sealedStore(memoryEventStore(), new MemorySealing());
  const data = paymentExample();
  const commands: readonly PaymentCommand[] = [
    { type: 'QueuePayment', at: createdAt, data },
    { ...paymentCommands.BlockPayment, at: blockedAt },
  ];
  const repo = repository(store, payments);
  const nothing = repo.fold([]);
  await repo.record(ids.payment, nothing, commands, systemContext('test'));
  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
  const transfers = new PartyTransfers(pool, store);
  const { contactId, organizationId } = data;
  const party = { kind: 'contact', id: contactId ?? '', organizationId } as const;
  runner.start();
  expect(await runner.waitFor(await store.lastPosition(), 60_000)).toBe(true);
  await runner.stop();
  expect(await transfers.open(party)).toBeNull();
  expect(await transfers.lastFinalAt(party)).toBe(blockedAt);
});
