import {
  at,
  contactExample,
  ids,
  later,
  organizationExample,
  originatorExample,
} from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import {
  createTestDatabase,
  itemsOf,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { directoryProjection } from './directory.projection.js';
import { countUnfinishedErasures, noteErasure, unfinishedErasures } from './party-erasures.js';
import { ProjectionRunner } from './projection-runner.js';
import { rebuildProjection } from './rebuild.js';
import { appendEvents } from './testing.js';

const timeoutMs = 20_000;
const hourMs = 3_600_000;
const streamId = `contact-${ids.contact}`;
const originatorStreamId = `originator-${ids.originator}`;
const request = { reason: 'asked by letter', by: 'user:cli:op', overridesRetention: true };

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let runner: ProjectionRunner;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  store = memoryEventStore();
  runner = new ProjectionRunner({ projection: directoryProjection, store, pool });
  runner.start();
  await append(`organization-${ids.organization}`, 'OrganizationCreated', organizationExample());
  const individual = originatorExample({ entityType: 'INDIVIDUAL' });
  await append(originatorStreamId, 'OriginatorCreated', individual);
  await append(streamId, 'ContactCreated', contactExample());
});
afterEach(async () => {
  await runner.stop();
  await pool.end();
  await database.drop();
});

async function append(to: string, type: string, data: object, time = at): Promise<string> {
  const { position } = await appendEvents(store, to, [{ type, at: time, data }]);
  expect(await runner.waitFor(position, timeoutMs)).toBe(true);
  return position;
}

const list = () => itemsOf(unfinishedErasures(pool));

it('an erasure is unfinished from its request until its copies are rewritten, or until it is withdrawn', async () => {
  expect(await list()).toEqual([]);
  await append(streamId, 'ContactErasureRequested', request);
  const requested = { kind: 'contact', id: ids.contact, phase: 'requested', since: at };
  expect(await list()).toEqual([requested]);
  await append(streamId, 'ContactErasureWithdrawn', { cause: 'PAYMENTS_NOT_FINAL' });
  expect(await list()).toEqual([]);

  await append(streamId, 'ContactErasureRequested', request, later);
  await append(originatorStreamId, 'OriginatorErasureRequested', request, at);
  await append(streamId, 'ContactErasureConfirmed', {}, later);
  expect(await list()).toEqual([
    { kind: 'originator', id: ids.originator, phase: 'requested', since: at },
    { ...requested, phase: 'confirmed', since: later },
  ]);
  await append(originatorStreamId, 'OriginatorErasureWithdrawn', { cause: 'INTERRUPTED' });
  const record = { organizationId: ids.organization, entityType: 'INDIVIDUAL' };
  await append(streamId, 'ContactErased', record, later);
  expect(await list()).toEqual([{ ...requested, phase: 'rewriting', since: later }]);
  await pool.query('UPDATE erased_parties SET passes = 1');
  expect(await list()).toEqual([]);
});

it('a request that another run repeats is as old as the first one', async () => {
  await append(streamId, 'ContactErasureRequested', request, at);
  await append(streamId, 'ContactErasureRequested', request, later);
  expect(await list()).toMatchObject([{ since: at }]);
});

it('only erasures that have taken long are counted', async () => {
  await append(streamId, 'ContactErasureRequested', request, new Date().toISOString());
  const old = new Date(Date.now() - 2 * hourMs).toISOString();
  await append(originatorStreamId, 'OriginatorErasureRequested', request, old);
  const none = { requested: 0, confirmed: 0, rewriting: 0 };
  const count = (olderThanMs: number, max: number) =>
    countUnfinishedErasures(pool, { olderThanMs, max });
  expect(await count(hourMs, 10)).toEqual({ ...none, requested: 1 });
  await append(originatorStreamId, 'OriginatorErasureConfirmed', {});
  expect(await count(hourMs, 10)).toEqual({ ...none, confirmed: 1 });
  expect(await count(0, 1)).toMatchObject({ rewriting: 0 });
});

it('a step is noted before the projection comes to it, and older steps that follow change nothing', async () => {
  await runner.stop();
  const { position } = await appendEvents(store, streamId, [
    { type: 'ContactErasureRequested', at, data: request },
    { type: 'ContactErasureWithdrawn', at, data: { cause: 'INTERRUPTED' } },
    { type: 'ContactErasureRequested', at: later, data: request },
  ]);
  await noteErasure(pool, { kind: 'contact', id: ids.contact, phase: 'requested', at, position });
  runner = new ProjectionRunner({ projection: directoryProjection, store, pool });
  runner.start();
  expect(await runner.waitFor(position, timeoutMs)).toBe(true);
  expect(await list()).toMatchObject([{ phase: 'requested' }]);
  await rebuildProjection('directory', { store, pool });
  expect(await list()).toMatchObject([{ phase: 'requested' }]);
  await append(streamId, 'ContactErasureWithdrawn', { cause: 'INTERRUPTED' });
  expect(await list()).toEqual([]);
});
