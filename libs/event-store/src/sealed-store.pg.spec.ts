import { contact, type ContactCommand } from '@pis/domain';
import { contactExample, ids, later } from '@pis/domain/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { systemContext } from './command-context.js';
import { hashOfEvent } from './event-hash.js';
import { beginning, type EventStore } from './port.js';
import { postgresEventStore } from './postgres/postgres-event-store.js';
import { repository } from './repository.js';
import { sealedStore } from './sealed-store.js';
import { MemorySealing } from './testing/memory-sealing.js';

let database: TestDatabase;
let pool: pg.Pool;
let raw: EventStore;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 3);
  raw = postgresEventStore({ pool });
});
afterAll(async () => {
  await raw?.close();
  await pool?.end();
  await database?.drop();
});

it('the chain of hashes is verified from the rows alone, without a key', async () => {
  const contacts = repository(sealedStore(raw, new MemorySealing()), contact);
  const by = systemContext('test');
  const update = (email: string): ContactCommand => ({
    type: 'UpdateContact',
    at: later,
    data: { changes: { email }, identity: `identity-${email.at(0)}` },
  });
  await contacts.create(
    ids.contact,
    { type: 'CreateContact', at: later, data: contactExample() },
    by,
  );
  await contacts.execute(ids.contact, update('b@mail.example'), by);
  // Two in one append, and a third onto what is in memory.
  const loaded = await contacts.load(ids.contact);
  const two = [update('c@mail.example'), update('d@mail.example')];
  const recorded = await contacts.record(ids.contact, loaded, two, by);
  if ('refused' in recorded) throw new Error(recorded.refused);
  await contacts.record(ids.contact, recorded, [update('e@mail.example')], by);

  const { events } = await raw.readLog({ after: beginning });
  expect(events).toHaveLength(5);
  expect(events.map(({ metadata }) => metadata.previousHash)).toEqual([
    null,
    ...events.slice(0, -1).map((event) => hashOfEvent(event)),
  ]);
  const { rows } = await pool.query<{ text: string }>(
    'SELECT data::text || metadata::text AS text FROM events',
  );
  expect(JSON.stringify(rows)).not.toMatch(/"Ada|Moreno|@|\*4321|Example Bank/);
});
