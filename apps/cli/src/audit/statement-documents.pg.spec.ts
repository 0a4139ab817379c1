/** Documents of statements that are not, or no longer, what was recorded. */
import { createHash, randomUUID } from 'node:crypto';
import { type DocumentStore, postgresDocuments, statementKey } from '@pis/documents';
import { ids } from '@pis/domain/testing';
import { memoryEventStore } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { appendEvents } from '@pis/read-models/testing';
import type pg from 'pg';
import { auditStatements } from './statement-documents.js';

const bytes = Buffer.from('%PDF-1.7 a statement');
const at = '2026-11-01T05:00:00.000Z';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let documents: DocumentStore;
const store = memoryEventStore();
const statements = [randomUUID(), randomUUID()].map((originatorId) => ({
  ...{ statementId: randomUUID(), organizationId: ids.organization, originatorId },
  ...{ periodYear: 2026, periodMonth: 10, documentId: randomUUID() },
  ...{ sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
}));
const [first, second] = statements;
if (first === undefined || second === undefined) throw new Error('two statements');

async function* once(content: Uint8Array) {
  yield content;
}

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 3);
  keyring = await testKeyringOn(pool);
  documents = postgresDocuments(pool, keyring);
  for (const data of statements) {
    await write(data, bytes);
    const event = { type: 'StatementGenerated', at, data };
    await appendEvents(store, `statement-${data.statementId}`, [event]);
  }
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

function write(data: (typeof statements)[number], content: Uint8Array) {
  const owner = ownerOf.originator(data.originatorId);
  return documents.write(statementKey(data), owner, once(content));
}

async function audit() {
  const found: string[] = [];
  const report = await auditStatements({
    ...{ store, documents, onPage: () => undefined },
    onDifference: ({ table, row, differs }) => found.push(`${table} ${row}: ${differs}`),
  });
  return { ...report, found };
}

const of = (data: typeof first, differs: string) =>
  `documents ${statementKey(data)}: the document of the statement ${differs}`;

it('finds a document that is another one, was altered or is missing, and leaves out the erased', async () => {
  expect(await audit()).toEqual({ compared: 2, erased: 0, found: [] });

  await write(first, Buffer.from('%PDF-1.7 a_statement'));
  const another = of(first, 'is not the one that was recorded');
  expect((await audit()).found).toEqual([another]);

  await write(first, bytes);
  const flip = () =>
    pool.query(
      'UPDATE document_chunks SET sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1)',
    );
  await flip();
  const altered = 'was altered: it cannot be opened';
  expect((await audit()).found).toEqual([of(first, altered), of(second, altered)]);

  await flip();
  await documents.remove(statementKey(first));
  expect((await audit()).found).toEqual([of(first, 'is missing')]);

  await keyring.destroy([ownerOf.originator(second.originatorId)]);
  expect(await audit()).toEqual({ compared: 1, erased: 1, found: [of(first, 'is missing')] });
});

it('tells of an event that it cannot read, and compares the others', async () => {
  const statementId = randomUUID();
  const event = { type: 'StatementDrawn', at, data: { ...first, statementId } };
  await appendEvents(store, `statement-${statementId}`, [event]);
  const before = await audit();
  expect(before.compared + before.erased).toBe(2);
  expect(before.found).toContainEqual(
    `documents statement-${statementId}: event 0 of the stream cannot be read: unknown type of event`,
  );
});
