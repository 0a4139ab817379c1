/** Two processes that generate one statement at the same time, because the first has lost its lock. */
import { createHash, randomUUID } from 'node:crypto';
import { type DocumentStore, openDocuments, statementKey } from '@pis/documents';
import { type Statement, statement as statements } from '@pis/domain';
import { type EventStore, memoryEventStore, repository, systemContext } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { s3Programs, type S3Server, startS3 } from '@pis/local-servers';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { directoryProjection, movementsProjection, ProjectionRunner } from '@pis/read-models';
import type pg from 'pg';
import { generateStatement, type GenerationContext, statementIdOf } from './generation.js';
import * as past from './testing/past-log.js';
import { bytesOf } from './testing/read-pdf.js';

const october = { year: 2026, month: 10 };
/** Of the lock of one originator: see generate-statement.ts. */
const lockKey = 491_730_522;
/** Several attempts of a Java program on a busy machine. */
const startLimitMs = 480_000;
const organizationId = randomUUID();
const originatorId = randomUUID();
const owner = { organizationId, originatorId };
const streamId = `statement-${statementIdOf({ originatorId, ...october })}`;

const { programs, missing } = await s3Programs();
const places = [
  { name: 'PostgreSQL', isS3: false, suite: describe },
  {
    name: missing === null ? 'S3' : `S3: ${missing}`,
    ...{ isS3: true, suite: programs === null ? describe.skip : describe },
  },
];

for (const { name, isS3, suite } of places)
  suite(`documents in ${name}`, () => {
    let server: S3Server | null = null;
    let database: TestDatabase;
    let pool: pg.Pool;
    let store: EventStore;
    let keyring: Keyring;
    let documents: DocumentStore;
    let runners: readonly ProjectionRunner[];
    beforeAll(async () => {
      if (!isS3 || programs === null) return;
      server = await startS3(programs);
      process.env['AWS_ACCESS_KEY_ID'] = server.credentials.accessKeyId;
      process.env['AWS_SECRET_ACCESS_KEY'] = server.credentials.secretAccessKey;
    }, startLimitMs);
    afterAll(async () => {
      for (const variable of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
        delete process.env[variable];
      await server?.stop();
    });
    beforeEach(async () => {
      database = await createTestDatabase();
      pool = openTestPool(database.url, 12);
      store = memoryEventStore();
      keyring = await testKeyringOn(pool);
      const place =
        server === null ? 'postgres' : `s3://${server.bucket}/twins?endpoint=${server.endpoint}`;
      documents = await openDocuments(place, { pool, keyring });
      runners = [movementsProjection, directoryProjection].map(
        (projection) => new ProjectionRunner({ projection, store, pool }),
      );
      for (const runner of runners) runner.start();
      await past.addParties(store, owner);
      await pay(700);
    });
    afterEach(async () => {
      for (const runner of runners) await runner.stop();
      await pool.end();
      await database.drop();
    });

    const pay = (amountMinor: number) =>
      past.pay(store, owner, amountMinor, 'OUTBOUND', ...past.minutes('2026-10-05', 3));

    const context = (given: Partial<GenerationContext> = {}): GenerationContext => ({
      ...{ store, pool, documents, by: systemContext('test') },
      ...{ now: () => new Date('2026-11-02T00:00:00.000Z'), ...given },
    });

    /** As after a break of its connection: another process may take the lock. */
    const loseLock = () =>
      pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks
          WHERE locktype = 'advisory' AND classid = $1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [lockKey],
      );

    /** The store, with a step before the statement is appended. */
    const storeWith = (step: () => Promise<void>): EventStore =>
      Object.assign(Object.create(store) as EventStore, {
        append: async (...given: Parameters<EventStore['append']>) => {
          if (given[0] === streamId) await step();
          return store.append(...given);
        },
      });

    async function recorded(): Promise<Statement> {
      const { state } = await repository(store, statements).load(
        streamId.slice('statement-'.length),
      );
      if (state === null) throw new Error('nothing is recorded');
      return state;
    }

    async function expectWhole(): Promise<void> {
      const statement = await recorded();
      expect(await store.readStream(streamId)).toHaveLength(1);
      const bytes = await bytesOf(
        documents.read(statementKey(statement), ownerOf.originator(originatorId)),
      );
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(statement.sha256);
      expect(statement.figures.paymentsOut).toEqual({ count: 1, amountMinor: 700 });
    }

    /** The first records its document while the second, which knows of a payment more, stores another one. */
    async function twins(endOfSecond: () => Promise<void>): Promise<string> {
      const stored = Promise.withResolvers<void>();
      const finish = Promise.withResolvers<void>();
      let key = '';
      const slow: DocumentStore = {
        ...{ read: documents.read.bind(documents), remove: documents.remove.bind(documents) },
        write(given, of, bytes) {
          key = given;
          return documents.write(
            given,
            of,
            past.beforeEnd(bytes, async () => {
              stored.resolve();
              await finish.promise;
            }),
          );
        },
      };
      let second: Promise<unknown> = Promise.resolve();
      const first = storeWith(async () => {
        await pay(20);
        for (const runner of runners) await runner.waitFor(await store.lastPosition(), 60_000);
        await loseLock();
        const given = { store: storeWith(endOfSecond), documents: slow };
        second = generateStatement(context(given), { originatorId, ...october });
        // Looked at below.
        second.catch(() => undefined);
        await stored.promise;
      });
      // It has recorded the statement, and finds that it has lost the lock.
      const request = { originatorId, ...october };
      await expect(generateStatement(context({ store: first }), request)).rejects.toThrow();
      expect(await store.readStream(streamId)).toHaveLength(1);
      finish.resolve();
      await second.catch((error: unknown) => {
        if (!String(error).includes('died')) throw error;
      });
      return key;
    }

    it('the one that is recorded keeps its bytes when the other dies at once', async () => {
      await twins(() => Promise.reject(new Error('died')));
      await expectWhole();
    });

    it('the one that is recorded keeps its bytes, and those of the other are removed', async () => {
      const key = await twins(() => Promise.resolve());
      await expectWhole();
      const other = bytesOf(documents.read(key, ownerOf.originator(originatorId)));
      await expect(other).rejects.toMatchObject({ name: 'DocumentMissing' });
    });

    it('a write that fails leaves no attempt behind, however often it is tried', async () => {
      const given = { documents: past.without(documents, originatorId) };
      for (let tries = 0; tries < 3; tries += 1)
        await expect(
          generateStatement(context(given), { originatorId, ...october }),
        ).rejects.toThrow('no room');
      expect((await pool.query('SELECT FROM statement_attempts')).rows).toEqual([]);
    });

    it('what a process that died has stored is removed once the statement is recorded', async () => {
      const keys: string[] = [];
      const noting: DocumentStore = {
        ...{ read: documents.read.bind(documents), remove: documents.remove.bind(documents) },
        write(key, ...given) {
          keys.push(key);
          return documents.write(key, ...given);
        },
      };
      const dying = storeWith(() => Promise.reject(new Error('died')));
      const given = { documents: noting };
      const request = { originatorId, ...october };
      await expect(
        generateStatement(context({ ...given, store: dying }), request),
      ).rejects.toThrow();
      await generateStatement(context(given), request);
      await expectWhole();
      const [left = '', made = ''] = keys;
      expect(made).toBe(statementKey(await recorded()));
      const read = bytesOf(documents.read(left, ownerOf.originator(originatorId)));
      await expect(read).rejects.toMatchObject({ name: 'DocumentMissing' });
    });
  });
