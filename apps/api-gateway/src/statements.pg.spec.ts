/** Statements over the API: the list, the record and the document. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { topics } from '@pis/contracts';
import { postgresDocuments, statementKey } from '@pis/documents';
import { memoryEventStore } from '@pis/event-store';
import { integrationFeed } from '@pis/integration';
import { ownerOf } from '@pis/keyring';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { type Gateway, keyring, startGateway, type Tenant } from './testing/gateway.js';
import { recordStatement } from './testing/statements.js';

const timeoutMs = 60_000;

let database: TestDatabase;
let pool: pg.Pool;
let gateway: Gateway;
let tenant: Tenant;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  gateway = await startGateway({ databaseUrl: database.url, store: memoryEventStore() });
  tenant = await gateway.createTenant();
});
afterAll(async () => {
  await gateway.close();
  await pool.end();
  await database.drop();
});

const pdf = Buffer.from('%PDF-1.7 of a month');

async function generate(periodMonth: number, originatorId = randomUUID()) {
  const statementId = randomUUID();
  const { organizationId } = tenant;
  const subject = { statementId, organizationId, originatorId, periodYear: 2026, periodMonth };
  const owner = ownerOf.originator(originatorId);
  async function* bytes() {
    yield pdf;
  }
  const written = await postgresDocuments(pool, keyring).write(
    statementKey(subject),
    owner,
    bytes(),
  );
  const recorded = { ...subject, ...written };
  const { generatedAt } = await recordStatement(gateway, organizationId, recorded);
  const { sha256, sizeBytes } = written;
  return {
    ...{ statementId, originatorId, periodYear: 2026, periodMonth, generatedAt },
    ...{ sizeBytes, sha256 },
  };
}

const get = (path: string, given: Record<string, string> = {}, of = tenant) =>
  gateway.app.inject({
    method: 'GET',
    url: `/v1/statements${path}`,
    headers: { authorization: `Bearer ${of.keys.read_only}`, ...given },
  });

it('answers with the record of a statement, and lists it by originator and year', async () => {
  const made = await generate(9);
  expect((await get(`/${made.statementId}`)).json()).toMatchObject({ data: made });
  const later = await generate(10, made.originatorId);
  await until(
    async () => {
      const { data } = (await get(`?originatorId=${made.originatorId}`)).json<{
        data: unknown[];
      }>();
      return data.length === 2;
    },
    { timeoutMs },
  );
  const listed = await get(`?originatorId=${made.originatorId}&year=2026`);
  const data = listed.json<{ data: { statementId: string }[] }>().data;
  expect(data.map(({ statementId }) => statementId)).toEqual([later.statementId, made.statementId]);
  const page = await get(`?originatorId=${made.originatorId}&limit=1`);
  expect(page.json()).toMatchObject({
    data: [later],
    meta: { pagination: { limit: 1, nextCursor: expect.any(String) } },
  });
  expect((await get(`?originatorId=${made.originatorId}&year=2025`)).json()).toMatchObject({
    data: [],
  });
});

it('serves the document whole, in ranges, and not again to who has it', async () => {
  const made = await generate(9);
  const whole = await get(`/${made.statementId}/pdf`);
  expect(whole.statusCode).toBe(200);
  expect(whole.rawPayload.equals(pdf)).toBe(true);
  expect(whole.headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': String(pdf.length),
    'content-disposition': 'attachment; filename="statement-2026-09.pdf"',
    etag: `"${made.sha256}"`,
  });
  const part = await get(`/${made.statementId}/pdf`, { range: 'bytes=1-3' });
  expect(part.statusCode).toBe(206);
  expect(part.payload).toBe('PDF');
  expect(part.headers['content-range']).toBe(`bytes 1-3/${pdf.length}`);
  const end = await get(`/${made.statementId}/pdf`, { range: 'bytes=-5' });
  expect(end.payload).toBe('month');
  const beyond = await get(`/${made.statementId}/pdf`, { range: 'bytes=1000-' });
  expect(beyond.statusCode).toBe(416);
  expect(beyond.headers['content-range']).toBe(`bytes */${pdf.length}`);
  expect(beyond.json()).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } });
  const known = await get(`/${made.statementId}/pdf`, { 'if-none-match': `"${made.sha256}"` });
  expect(known.statusCode).toBe(304);
  expect(known.payload).toBe('');
});

it('is not found by another organization', async () => {
  const made = await generate(9);
  const other = await gateway.createTenant();
  expect((await get(`/${made.statementId}`, {}, other)).statusCode).toBe(404);
  expect((await get(`/${made.statementId}/pdf`, {}, other)).statusCode).toBe(404);
  expect((await get('', {}, other)).json()).toMatchObject({ data: [] });
});

it('keeps the record of an erased originator, and has no document of it', async () => {
  const made = await generate(9);
  await keyring.destroy([ownerOf.originator(made.originatorId)]);
  expect((await get(`/${made.statementId}`)).statusCode).toBe(200);
  expect((await get(`/${made.statementId}/pdf`)).statusCode).toBe(404);
});

it('is announced with its ID, originator, year and month, in the feed and over the API', async () => {
  const made = await generate(9);
  const data = {
    ...{ statementId: made.statementId, originatorId: made.originatorId },
    ...{ periodYear: 2026, periodMonth: 9 },
  };
  const found: unknown[] = [];
  const ending = new AbortController();
  const wanted = { topics: [topics.statements], after: '', signal: ending.signal };
  const last = await gateway.store.lastPosition();
  for await (const { messages, position } of integrationFeed(gateway.store).subscribe(wanted)) {
    found.push(...messages.map(({ value }) => JSON.parse(value) as unknown));
    if (position >= last) break;
  }
  ending.abort();
  expect(found).toContainEqual(
    expect.objectContaining({
      eventType: 'statement.generated',
      data,
      occurredAt: made.generatedAt,
    }),
  );
  const inPullFeed = async () => {
    const path = '/v1/events?eventType=statement.generated&limit=100';
    const events = (await gateway.call(path, { tenant })).body?.data as { data: object }[];
    return events.find((event) => isDeepStrictEqual(event.data, data));
  };
  await until(async () => (await inPullFeed()) !== undefined, { timeoutMs });
  expect(await inPullFeed()).toMatchObject({ createdAt: made.generatedAt, synthetic: false });
});
