import { randomUUID } from 'node:crypto';
import {
  at,
  contactExample,
  ids,
  later,
  organizationExample,
  originatorExample,
} from '@pis/domain/testing';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { directoryProjection } from './directory.projection.js';
import { directoryQuery, type DirectoryQuery } from './directory-query.js';
import { PrismaClient } from './generated/client.js';
import type { ListCursor } from './list-page.js';
import { ProjectionRunner } from './projection-runner.js';
import { rebuildProjection } from './rebuild.js';
import { appendEvents } from './testing.js';

const { organization: organizationId } = ids;
const timeoutMs = 60_000;

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let runner: ProjectionRunner;
let query: DirectoryQuery;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  store = memoryEventStore();
  query = directoryQuery(pool);
  runner = new ProjectionRunner({ projection: directoryProjection, store, pool });
  runner.start();
});

afterEach(async () => {
  await runner.stop();
  await pool.end();
  await database.drop();
});

async function append(streamId: string, type: string, data: object, time = at): Promise<void> {
  const { position } = await appendEvents(store, streamId, [{ type, at: time, data }]);
  expect(await runner.waitFor(position, timeoutMs)).toBe(true);
}

const createContact = (contactId: string, time = at, overrides = {}) =>
  append(
    `contact-${contactId}`,
    'ContactCreated',
    contactExample({ contactId, ...overrides }),
    time,
  );

describe('the lists of the directory', () => {
  it('show originators as they are after their last update', async () => {
    const stream = `originator-${ids.originator}`;
    await append(stream, 'OriginatorCreated', originatorExample());
    const changes = { email: 'new@northwind.example', phoneNumber: null };
    await append(stream, 'OriginatorUpdated', { changes }, later);
    const { items } = await query.originators(organizationId);
    const { bankAccount, organizationId: _, ...profile } = originatorExample();
    if (bankAccount === null) throw new Error('the example has an account');
    const { sealed: ___, ...masked } = bankAccount;
    expect(items).toEqual([
      { ...profile, ...changes, bankAccount: masked, createdAt: at, updatedAt: later },
    ]);
    expect(await query.originators(randomUUID())).toEqual({ items: [], next: null });
  });

  it('show contacts of an originator, with replaced and cleared bank accounts', async () => {
    const other = randomUUID();
    await createContact(ids.contact);
    await createContact(ids.otherContact, later, { originatorId: other });
    const stream = `contact-${ids.contact}`;
    const cleared = { changes: { bankAccount: null, firstName: 'Grace' }, identity: 'identity-2' };
    await append(stream, 'ContactUpdated', cleared, later);
    await append(stream, 'ContactIdentityForfeited', { identity: 'identity-1' }, later);
    await append(stream, 'ContactUpdated', { changes: {}, identity: 'identity-2' }, later);

    const all = await query.contacts(organizationId, {});
    expect(all.items.map(({ contactId }) => contactId)).toEqual([ids.otherContact, ids.contact]);
    const { items } = await query.contacts(organizationId, { originatorId: ids.originator });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      contactId: ids.contact,
      originatorId: ids.originator,
      firstName: 'Grace',
      bankAccount: null,
    });
  });

  it('show nothing of a contact that was never created', async () => {
    await append(`contact-${randomUUID()}`, 'ContactCreationForfeited', { identity: 'identity-1' });
    await createContact(ids.contact);
    const { items } = await query.contacts(organizationId, {});
    expect(items.map(({ contactId }) => contactId)).toEqual([ids.contact]);
  });

  it('page through contacts of one millisecond without losing any', async () => {
    const contactIds = Array.from({ length: 7 }, () => randomUUID());
    for (const contactId of contactIds) await createContact(contactId);
    const seen: string[] = [];
    let after: ListCursor | null | undefined;
    while (after !== null) {
      const page = await query.contacts(
        organizationId,
        { originatorId: ids.originator },
        { limit: 2, after: after ?? undefined },
      );
      seen.push(...page.items.map(({ contactId }) => contactId));
      after = page.next;
    }
    expect(seen).toEqual(contactIds.sort().reverse());
  });

  it('show webhook endpoints without their secret, and no longer once deleted', async () => {
    const stream = `webhookEndpoints-${organizationId}`;
    const [first, second] = [randomUUID(), randomUUID()];
    const record = (endpointId: string) => ({
      organizationId,
      endpointId,
      url: 'https://client.example/hook',
      subscribedEvents: ['payment.*'],
      label: null,
      sealedSecret: 'v1.sealed-secret',
    });
    await append(stream, 'WebhookEndpointCreated', record(first));
    await append(stream, 'WebhookEndpointCreated', record(second), later);
    const changes = { label: 'orders', enabled: false, subscribedEvents: [] };
    await append(
      stream,
      'WebhookEndpointUpdated',
      { organizationId, endpointId: first, changes },
      later,
    );
    await append(stream, 'WebhookEndpointDeleted', { organizationId, endpointId: second }, later);
    const { rows } = await pool.query<{ item: unknown }>(
      'SELECT item FROM webhook_endpoints WHERE deleted_at IS NULL',
    );
    expect(rows.map(({ item }) => item)).toEqual([
      {
        id: first,
        url: 'https://client.example/hook',
        subscribedEvents: [],
        label: 'orders',
        enabled: false,
        createdAt: at,
        updatedAt: later,
      },
    ]);
  });

  it('show API keys by organization, with their revocation', async () => {
    const apiKeyId = randomUUID();
    const digest = 'ab'.repeat(32);
    const data = {
      apiKeyId,
      digest,
      organizationId,
      keyType: 'read_only',
      environment: 'sandbox',
      expiresAt: later,
    };
    await append(`apiKey-${digest}`, 'ApiKeyCreated', data);
    await append(`apiKey-${digest}`, 'ApiKeyRevoked', { apiKeyId }, later);
    const expected = { ...data, createdAt: at, revokedAt: later };
    expect(await query.apiKeys(organizationId)).toEqual([expected]);
  });

  it('name the organizations', async () => {
    await append(
      `organization-${organizationId}`,
      'OrganizationCreated',
      organizationExample({ name: 'Acme\0' }),
    );
    const { rows } = await pool.query('SELECT organization_id AS id, name FROM organizations');
    expect(rows).toEqual([{ id: organizationId, name: 'Acme\ufffd' }]);
  });

  it('have the retention period that an organization has set', async () => {
    const years = async () =>
      (await pool.query('SELECT retention_years AS years FROM organizations')).rows;
    const streamId = `organization-${organizationId}`;
    await append(streamId, 'OrganizationCreated', organizationExample());
    expect(await years()).toEqual([{ years: null }]);
    for (const retentionYears of [10, 0, null]) {
      await append(streamId, 'OrganizationRetentionSet', { retentionYears });
      expect(await years()).toEqual([{ years: retentionYears }]);
    }
  });

  it('have the time zone that an organization has set, and New York before', async () => {
    const zones = async () =>
      (await pool.query('SELECT time_zone AS zone FROM organizations')).rows;
    const streamId = `organization-${organizationId}`;
    await append(streamId, 'OrganizationCreated', organizationExample());
    expect(await zones()).toEqual([{ zone: 'America/New_York' }]);
    await append(streamId, 'OrganizationTimeZoneSet', { timeZone: 'Asia/Tokyo' });
    expect(await zones()).toEqual([{ zone: 'Asia/Tokyo' }]);
  });

  it('store no sealed value in any table, and are the same after a rebuild', async () => {
    await append(`originator-${ids.originator}`, 'OriginatorCreated', originatorExample());
    await createContact(ids.contact);
    const before = await everything();
    expect(before).not.toMatch(/sealed|wrapped|identity-1/);
    await rebuildProjection('directory', { store, pool });
    expect(await everything()).toBe(before);
  });

  it('throw StoreUnavailable when the database is unavailable', async () => {
    const url = new URL(database.url);
    url.port = '1';
    const away = new pg.Pool({ connectionString: url.href, connectionTimeoutMillis: 1_000 });
    await expectUnavailable(directoryQuery(away).originators(organizationId));
    await away.end();
  });

  it('throw StoreUnavailable when the connection is cut during the query', async () => {
    const blocker = await pool.connect();
    await blocker.query('BEGIN; LOCK TABLE originators IN ACCESS EXCLUSIVE MODE');
    const cut = expectUnavailable(query.originators(organizationId));
    await until(
      async () => {
        const { rowCount } = await blocker.query(
          `SELECT pg_terminate_backend(pid) FROM pg_locks
           WHERE NOT granted AND relation = 'originators'::regclass`,
        );
        return rowCount;
      },
      { timeoutMs },
    );
    await cut;
    await blocker.query('ROLLBACK');
    blocker.release();
    expect((await query.originators(organizationId)).items).toEqual([]);
  });

  it('throw StoreUnavailable when no connection is free in time', async () => {
    const full = new pg.Pool({
      connectionString: database.url,
      max: 1,
    });
    const taken = await full.connect();
    // Only now: on a slow machine, connecting itself may take longer.
    full.options.connectionTimeoutMillis = 100;
    await expectUnavailable(directoryQuery(full).originators(organizationId));
    taken.release();
    await full.end();
  });

  it('fit the schema that the migrations make', async () => {
    await until(() => runner.isActive, { timeoutMs });
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
    await expect(prisma.payment.findMany()).resolves.toEqual([]);
    await expect(prisma.projectionCheckpoint.findMany()).resolves.toMatchObject([
      { name: 'directory' },
    ]);
  });
});

async function expectUnavailable(answer: Promise<unknown>): Promise<void> {
  await expect(answer).rejects.toBeInstanceOf(StoreUnavailable);
}

async function everything(): Promise<string> {
  const texts = await Promise.all(
    directoryProjection.tables.map(async ({ name }) => {
      const { rows } = await pool.query<object>(`SELECT * FROM ${name} ORDER BY 1`);
      return JSON.stringify(rows);
    }),
  );
  return texts.join('\n');
}
