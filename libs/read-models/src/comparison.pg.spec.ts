/** Read models beside the log: what somebody with write access to the database can change, and how it is found. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { contact, payment } from '@pis/domain';
import { contactExample, ids, later, paymentEvents, paymentExample } from '@pis/domain/testing';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  type Sealing,
} from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { compareReadModels } from './comparison.js';
import { repeatErasures } from './erased-parties.js';
import { type ErasureNotice, noteErasure } from './party-erasures.js';
import { ProjectionRunner } from './projection-runner.js';
import { projectionNames, projections } from './projections.js';
import type { ProjectionName } from './projected-streams.js';
import { ownConnection } from '@pis/postgres';
import { rebuildProjection } from './rebuild.js';
import { appendEvents, queuePayment } from './testing.js';
import { writeWholeHistory } from './testing/whole-history.js';

jest.setTimeout(120_000);
const caughtUpWithinMs = 60_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
});
afterEach(async () => {
  await pool?.end();
  await database?.drop();
});

async function project(store: EventStore, names = projectionNames): Promise<void> {
  const end = await store.lastPosition();
  for (const name of names) {
    const runner = new ProjectionRunner({ projection: projections[name], store, pool });
    runner.start();
    const isThere = await runner.waitFor(end, caughtUpWithinMs);
    await runner.stop();
    if (!isThere) throw new Error(`the projection ${name} has not caught up in time`);
  }
}

/** Each difference as `table row column`. */
async function differences(
  store: EventStore,
  names: readonly ProjectionName[] = projectionNames,
  { withPersonalData = true, settleMaxMs = 0 } = {},
): Promise<string[]> {
  const found: string[] = [];
  for (const name of names)
    await compareReadModels(name, {
      ...{ store, pool, withPersonalData, settleMaxMs },
      onDifference: ({ table, row, column, differs }) =>
        found.push(`${table} ${row} ${column ?? differs}`),
    });
  return found;
}

it('read models that nobody altered are those of the log', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  await project(store);
  expect(await differences(store)).toEqual([]);
});

it('what a killed process compares or rebuilds does not go on in PostgreSQL', async () => {
  const client = await ownConnection(pool);
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const isAt = async (condition: string) => {
    const text = `SELECT FROM pg_stat_activity WHERE pid = $1 AND ${condition}`;
    return (await pool.query(text, [rows[0]?.pid])).rowCount === 1;
  };
  const cutOff = client.query('SELECT pg_sleep(600)').catch(() => 'cut off');
  await until(() => isAt(`wait_event = 'PgSleep'`), { timeoutMs: caughtUpWithinMs });
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  expect(await cutOff).toBe('cut off');
  await until(async () => !(await isAt('true')), { timeoutMs: caughtUpWithinMs });
});

it('a field of an item is named by its path, and no value of it is told', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  await project(store, ['directory']);
  await pool.query(
    `UPDATE contacts SET item = replace(item::text, '"firstName":"', '"firstName":"Eve')::json
     WHERE contact_id = $1`,
    [ids.contact],
  );
  const told: unknown[] = [];
  const report = await compareReadModels('directory', {
    ...{ store, pool, withPersonalData: true, settleMaxMs: 0 },
    onDifference: (difference) => told.push(difference),
  });
  const differs = 'it is not what the log says';
  expect(told).toEqual([
    { table: 'contacts', row: ids.contact, column: 'item.firstName', differs },
  ]);
  expect(report).toMatchObject({ projection: 'directory', differences: 1 });
  expect(report.rows).toBeGreaterThan(5);
});

it('a token that a cut-off request left behind is no difference, one of a payment is', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  await project(store, ['payments']);
  const forge = (digest: string, of: string) =>
    pool.query(
      `INSERT INTO payment_links (token_digest, payment_id, organization_id, expires_at)
       SELECT decode($1, 'hex'), ${of}, organization_id, expires_at FROM payment_links LIMIT 1`,
      [digest],
    );
  await forge('ab'.repeat(32), 'gen_random_uuid()');
  expect(await differences(store, ['payments'])).toEqual([]);
  await forge('cd'.repeat(32), 'payment_id');
  expect(await differences(store, ['payments'])).toEqual([
    `payment_links \\x${'cd'.repeat(32)} the log has no such row`,
  ]);
});

it('a projection that is behind is compared where it is, and one that has no event yet is empty', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  await project(store, ['payments']);
  await queuePayment(store, later);
  expect(await differences(store, ['payments', 'directory'])).toEqual([]);
  await pool.query(
    `INSERT INTO api_keys (api_key_id, organization_id, digest, key_type, environment, created_at, revision)
     VALUES ($1, $1, $2, 'full_access', 'sandbox', now(), 0)`,
    [ids.contact, 'e'.repeat(64)],
  );
  expect(await differences(store, ['directory'])).toEqual([
    `api_keys ${ids.contact} the log has no such row`,
  ]);
});

it('payments that arrive and tables that are rebuilt meanwhile are no difference', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  const names = ['payments', 'figures'] as const;
  const runners = names.map(
    (name) => new ProjectionRunner({ projection: projections[name], store, pool }),
  );
  for (const runner of runners) runner.start();
  let isOver = false;
  const arrivals = (async () => {
    while (!isOver) {
      const queued = await queuePayment(store, later);
      await appendEvents(store, queued.streamId, [paymentEvents.processing]);
      await appendEvents(store, queued.streamId, [paymentEvents.completed]);
    }
  })();
  const rebuilds = (async () => {
    while (!isOver) await rebuildProjection('payments', { store, pool });
  })();
  try {
    expect(await differences(store, names, { settleMaxMs: caughtUpWithinMs })).toEqual([]);
  } finally {
    isOver = true;
    await Promise.all([arrivals, rebuilds]);
    await Promise.all(runners.map((runner) => runner.stop()));
  }
});

describe('with personal data', () => {
  const by = {
    ...{ actor: 'user:1', requestId: null, correlationId: 'c' },
    ...{ causationId: null, traceparent: null },
  };
  const noKeys: Sealing = {
    seal: () => Promise.reject(new Error('there are no keys')),
    openAll: (texts) => Promise.resolve(texts.map(() => null)),
    destroyedOf: () => Promise.resolve(new Set()),
  };
  const names = ['payments', 'directory'] as const;
  let sealing: MemorySealing;
  let stored: EventStore;
  let store: EventStore;

  beforeEach(async () => {
    sealing = new MemorySealing();
    stored = memoryEventStore();
    store = sealedStore(stored, sealing);
    const created = { type: 'CreateContact', at: later, data: contactExample() } as const;
    await repository(store, contact).create(ids.contact, created, by);
    const payments = repository(store, payment);
    const data = paymentExample({ idempotencyKey: null });
    const { queued, processing } = paymentEvents;
    for (const event of [{ ...queued, data }, processing])
      await payments.append(ids.payment, await payments.load(ids.payment), [event], by);
    await project(store, names);
  });

  const changeName = (table: 'contacts' | 'payments') =>
    pool.query(
      `UPDATE ${table} SET item = replace(item::text, '"lastName":"', '"lastName":"X')::json`,
    );
  const changeStatus = () => pool.query("UPDATE payments SET status = 'COMPLETED'");

  it('finds another name with the keys, and everything but names without them', async () => {
    expect(await differences(store, names)).toEqual([]);
    const withoutKeys = () =>
      differences(sealedStore(stored, noKeys), names, { withPersonalData: false });
    expect(await withoutKeys()).toEqual([]);
    await changeName('contacts');
    await changeName('payments');
    expect(await differences(store, names)).toEqual([
      `payments ${ids.payment} item.contact.lastName`,
      `contacts ${ids.contact} item.lastName`,
    ]);
    expect(await withoutKeys()).toEqual([]);
    await changeStatus();
    expect(await withoutKeys()).toEqual([`payments ${ids.payment} status`]);
  });

  it('a stream that cannot be opened here, and that the service does not hold back, is named', async () => {
    sealing.lose(`contact:${ids.contact}`);
    expect(await differences(store, ['directory'])).toContainEqual(
      expect.stringMatching(
        new RegExp(`^quarantined_streams contact-${ids.contact} it cannot be read: `),
      ),
    );
  });

  it('an erasure before, while and after the tables are rewritten is no difference', async () => {
    sealing.destroy(`contact:${ids.contact}`);
    await appendEvents(store, `contact-${ids.contact}`, [
      {
        type: 'ContactErasureRequested',
        at: later,
        data: { reason: 'asked', by: 'user:1', overridesRetention: true },
      },
      { type: 'ContactErasureConfirmed', at: later, data: {} },
      {
        type: 'ContactErased',
        at: later,
        data: { organizationId: ids.organization, entityType: 'INDIVIDUAL' },
      },
    ]);
    await project(store, names);
    expect(await differences(store, names)).toContain(
      `payments ${ids.payment} item.contact.lastName`,
    );
    const rewrite = async () => {
      await pool.query(
        `UPDATE payments SET item = jsonb_set(item::jsonb, '{contact}', item::jsonb->'contact' ||
           '{"firstName":null,"lastName":null,"companyName":null,"erased":true}')::json`,
      );
      await pool.query('UPDATE erased_parties SET passes = 1');
    };
    // The worker is at it while the audit waits.
    const found: unknown[] = [];
    const comparing = compareReadModels('payments', {
      ...{ store, pool, withPersonalData: true, settleMaxMs: caughtUpWithinMs },
      onDifference: (difference) => found.push(difference),
    });
    await rewrite();
    await comparing;
    expect(found).toEqual([]);
    expect(await differences(store, names)).toEqual([]);
    // Somebody brings the name back.
    await changeNameBack();
    expect(await differences(store, names)).toContain(
      `payments ${ids.payment} item.contact.lastName`,
    );
    // Somebody hides that by forging the list of erased parties.
    await repeatErasures(pool, { partyIds: [ids.contact] });
    await pool.query(
      `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position)
       VALUES ($1, 'originator', $1, now(), '1')`,
      [randomUUID()],
    );
    expect(await differences(store, ['directory'])).toEqual([
      expect.stringMatching(/^erased_parties .* the log has no such row$/),
    ]);
  });

  const changeNameBack = () =>
    pool.query(
      `UPDATE payments SET item = jsonb_set(item::jsonb, '{contact,lastName}', '"Moreno"')::json`,
    );
});

it('an erasure under way that is missing, altered or made up is found, and one that is noted early is none', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  const requested = {
    ...{ type: 'ContactErasureRequested', at: later },
    data: { reason: 'asked', by: 'user:1', overridesRetention: true },
  };
  await appendEvents(store, `contact-${ids.contact}`, [requested]);
  await project(store, ['directory']);
  const found = () => differences(store, ['directory']);
  expect(await found()).toEqual([]);
  const [party] = (await pool.query<{ position: string }>('SELECT * FROM party_erasures')).rows;

  // Payments would be sent to somebody who is being erased.
  await pool.query('DELETE FROM party_erasures');
  expect(await found()).toEqual([`party_erasures ${ids.contact} the row is missing`]);
  const note = (id: string, phase: ErasureNotice['phase'], position = party?.position ?? '') =>
    noteErasure(pool, { kind: 'contact', id, phase, at: later, position });
  await note(ids.contact, 'withdrawn');
  expect(await found()).toEqual([`party_erasures ${ids.contact} phase`]);
  await pool.query(`UPDATE party_erasures SET phase = 'requested'`);
  await note(ids.otherContact, 'confirmed');
  expect(await found()).toEqual([`party_erasures ${ids.otherContact} the log has no such row`]);
  await pool.query('DELETE FROM party_erasures WHERE party_id = $1', [ids.otherContact]);
  await note(ids.contact, 'withdrawn', '9'.repeat(20));
  expect(await found()).toEqual([`party_erasures ${ids.contact} the log has no such step`]);

  // As `pis` does it, ahead of the projection.
  await pool.query('DELETE FROM party_erasures');
  await note(ids.contact, 'requested');
  await appendEvents(store, `contact-${ids.contact}`, [
    { type: 'ContactErasureConfirmed', at: later, data: {} },
  ]);
  await note(ids.contact, 'confirmed', await store.lastPosition());
  expect(await found()).toEqual([]);
});

it('a log with a gap in a stream is one difference, which names the stream', async () => {
  const store = memoryEventStore();
  await writeWholeHistory(store);
  await project(store, ['payments']);
  const broken: EventStore = {
    ...store,
    async readLog(options) {
      const page = await store.readLog(options);
      return { ...page, events: page.events.filter(({ type }) => type !== 'PaymentProcessing') };
    },
  };
  expect(await differences(broken, ['payments'])).toEqual([
    expect.stringMatching(/^payments payment-\S+ the log does not say what its rows are: /),
  ]);
});
