/** Documents in a real S3-compatible server; their keys are in a real PostgreSQL. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { s3Programs, type S3Server, startS3 } from '@pis/local-servers';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { parseDocumentPlace, type S3Place } from './document-place.js';
import {
  chunkBytes,
  DocumentAltered,
  DocumentMissing,
  type DocumentStore,
} from './document-store.js';
import { openDocuments } from './open-documents.js';
import { S3Documents } from './s3-documents.js';
import { s3Client } from './s3-requests.js';
import { itStoresDocuments } from './testing/document-store-conformance.js';

const { programs, missing } = await s3Programs();
const withServer = programs === null ? describe.skip : describe;
/** Several attempts of a Java program on a busy machine. */
const startLimitMs = 480_000;
const owner = 'originator:1';
const prefix = 'tests/pis';
const variables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;

withServer(`documents in S3${missing === null ? '' : `: ${missing}`}`, () => {
  let server: S3Server;
  let database: TestDatabase;
  let pool: pg.Pool;
  let keyring: Keyring;
  beforeAll(async () => {
    if (programs === null) return;
    server = await startS3(programs);
    process.env['AWS_ACCESS_KEY_ID'] = server.credentials.accessKeyId;
    process.env['AWS_SECRET_ACCESS_KEY'] = server.credentials.secretAccessKey;
  }, startLimitMs);
  afterAll(async () => {
    for (const variable of variables) delete process.env[variable];
    await server?.stop();
  });
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 5);
    keyring = await testKeyringOn(pool);
    const bucket = join(server.dataDir, server.bucket);
    rmSync(bucket, { recursive: true, force: true });
    mkdirSync(bucket);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const setting = (bucket = server.bucket) =>
    `s3://${bucket}/${prefix}?endpoint=${server.endpoint}`;
  const open = (): Promise<DocumentStore> => openDocuments(setting(), { pool, keyring });
  const objectFile = (key: string) => join(server.dataDir, server.bucket, prefix, key);

  itStoresDocuments(() => ({
    keyring,
    storeWith: (given) => {
      const place = parseDocumentPlace(setting()) as S3Place;
      return new S3Documents(s3Client(place), place, given);
    },
    stored: () => Promise.resolve(storedIn(join(server.dataDir, server.bucket))),
  }));

  it('does not open a document whose chunks were swapped or removed', async () => {
    const store = await open();
    await store.write('a', owner, pieces(randomBytes(3 * chunkBytes)));
    const file = objectFile('a');
    const whole = readFileSync(file);
    const head = 20;
    const sealed = (whole.length - head) / 3;
    const [first, second, third] = [0, 1, 2].map((index) =>
      whole.subarray(head + index * sealed, head + (index + 1) * sealed),
    ) as [Buffer, Buffer, Buffer];
    const rewrite = async (...parts: Buffer[]) => {
      await putRaw(Buffer.concat(parts));
      return collected(store.read('a', owner));
    };
    const putRaw = async (bytes: Buffer) => {
      const client = s3Client(parseDocumentPlace(setting()) as S3Place);
      const target = { Bucket: server.bucket, Key: `${prefix}/a` };
      await client.send(new PutObjectCommand({ ...target, Body: bytes }));
    };
    const start = whole.subarray(0, head);
    expect((await rewrite(start, first, second, third)).length).toBe(3 * chunkBytes);
    const cannotOpen = { name: 'CannotOpen' };
    await expect(rewrite(start, second, first, third)).rejects.toMatchObject(cannotOpen);
    await expect(rewrite(start, first, second)).rejects.toMatchObject(cannotOpen);
    await expect(rewrite(randomBytes(head), first, second, third)).rejects.toThrow(DocumentAltered);
    await expect(rewrite(start, first, second.subarray(0, 10))).rejects.toThrow(DocumentAltered);
  });

  it('removes what a process that died had uploaded, with the next write', async () => {
    const target = { Bucket: server.bucket, Key: `${prefix}/a` };
    const client = s3Client(parseDocumentPlace(setting()) as S3Place);
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
    const part = { ...target, UploadId, PartNumber: 1, Body: randomBytes(chunkBytes) };
    await client.send(new UploadPartCommand(part));
    const bucket = join(server.dataDir, server.bucket);
    expect(storedIn(bucket).unfinished).toBeGreaterThan(0);
    const store = await open();
    await expect(collected(store.read('a', owner))).rejects.toThrow(DocumentMissing);
    await store.write('a', owner, pieces(Buffer.from('whole')));
    expect(storedIn(bucket).unfinished).toBe(0);
    expect((await collected(store.read('a', owner))).toString()).toBe('whole');
  });

  it('does not mix a document with the one that replaces it while it is read', async () => {
    const store = await open();
    await store.write('a', owner, pieces(randomBytes(20 * chunkBytes)));
    const reading = store.read('a', owner)[Symbol.asyncIterator]();
    await reading.next();
    await store.write('a', owner, pieces(randomBytes(20 * chunkBytes)));
    const rest = async () => {
      while ((await reading.next()).done !== true);
    };
    await expect(rest()).rejects.toThrow(DocumentAltered);
  });

  it('refuses to start with a wrong bucket or wrong credentials, and says what is wrong', async () => {
    const wrongBucket = openDocuments(setting('elsewhere'), { pool, keyring });
    await expect(wrongBucket).rejects.toThrow(
      /^PIS_DOCUMENT_STORE: s3:\/\/elsewhere at .* refuses: NoSuchBucket/,
    );
    process.env['AWS_SECRET_ACCESS_KEY'] = 'wrong';
    try {
      const error: unknown = await open().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'DocumentStoreRefused' });
      expect(String(error)).toMatch(/refuses: SignatureDoesNotMatch 403/);
    } finally {
      process.env['AWS_SECRET_ACCESS_KEY'] = server.credentials.secretAccessKey;
    }
  });

  it('fails while the server is gone, starts without it, and has everything when it is back', async () => {
    const store = await open();
    const bytes = randomBytes(2 * chunkBytes);
    await store.write('a', owner, pieces(bytes));
    await server.kill();
    const unavailable = { name: 'DocumentStoreUnavailable' };
    await expect(collected(store.read('a', owner))).rejects.toMatchObject(unavailable);
    await expect(store.write('b', owner, pieces(bytes))).rejects.toMatchObject(unavailable);
    const started = await open();
    await server.restart();
    expect((await collected(started.read('a', owner))).equals(bytes)).toBe(true);
    await started.write('b', owner, pieces(bytes));
    expect((await collected(store.read('b', owner))).equals(bytes)).toBe(true);
  });
});

async function* pieces(...bytes: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* bytes;
}

async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

/** The server keeps the parts of unfinished uploads beside the objects, under names that begin like this. */
const unfinishedName = '.mpus-';

function storedIn(bucket: string): { bytes: Buffer; unfinished: number } {
  const names = readdirSync(bucket, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(bucket, name)).isFile());
  const unfinished = files.filter((name) => name.includes(unfinishedName));
  return {
    bytes: Buffer.concat(files.map((name) => readFileSync(join(bucket, name)))),
    unfinished: unfinished.length,
  };
}
