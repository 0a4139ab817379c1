import { at, contactExample, ids, organizationExample } from '@pis/domain/testing';
import { beginning, memoryEventStore } from '@pis/event-store';
import { shortSightedStore } from '@pis/event-store/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { paymentsProjection } from './payments.projection.js';
import { hasReached, projectionReach } from './projection-reach.js';
import { ProjectionRunner } from './projection-runner.js';
import { appendEvents, queuePayment } from './testing.js';

const timeoutMs = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 3);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

it('a projection is behind although pages without its events follow its checkpoint', async () => {
  const store = shortSightedStore(memoryEventStore());
  const others = () =>
    appendEvents(store, `organization-${ids.organization}`, [
      { type: 'OrganizationCreated', at, data: organizationExample() },
      { type: 'OrganizationCreated', at, data: organizationExample() },
    ]);
  const before = await others();
  expect(await hasReached({ pool, store }, 'payments', before.position)).toBe(true);
  const { position } = await queuePayment(store, at, {});
  expect(await hasReached({ pool, store }, 'payments', before.position)).toBe(true);
  expect(await hasReached({ pool, store }, 'payments', position)).toBe(false);

  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
  runner.start();
  expect(await runner.waitFor(position, timeoutMs)).toBe(true);
  await runner.stop();
  const after = await others();
  expect(await hasReached({ pool, store }, 'payments', after.position)).toBe(true);
});

it('a process that does not run the projection sees that the end of the log was reached, whatever events are there', async () => {
  const store = memoryEventStore();
  // Another pool is another process.
  const projector = openTestPool(database.url, 3);
  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool: projector });
  const reach = projectionReach({ pool, store }, 'payments');
  runner.start();
  try {
    const { position } = await queuePayment(store, at, {});
    expect(await reach.waitFor(position, timeoutMs)).toBe(true);
    // At once: the checkpoint is saved again only with an event after this second.
    const after = await appendEvents(store, `organization-${ids.organization}`, [
      { type: 'OrganizationCreated', at, data: organizationExample() },
    ]);
    expect(await reach.waitFor(after.position, 3_000)).toBe(true);
    await runner.stop();
    const next = await queuePayment(store, at, {});
    expect(await reach.waitFor(next.position, 1)).toBe(false);
  } finally {
    await runner.stop();
    await projector.end();
  }
});

it('only the streams that are asked for count', async () => {
  const store = memoryEventStore();
  const data = contactExample();
  const { position } = await appendEvents(store, `contact-${ids.contact}`, [
    { type: 'ContactCreated', at, data },
  ]);
  expect(await hasReached({ pool, store }, 'directory', position)).toBe(false);
  expect(await hasReached({ pool, store }, 'directory', position, ['organization-'])).toBe(true);
  expect(await hasReached({ pool, store }, 'directory', beginning)).toBe(true);
});
