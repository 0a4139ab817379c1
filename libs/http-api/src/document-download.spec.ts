import type { ByteRange, DocumentStore } from '@pis/documents';
import { DocumentMissing } from '@pis/documents';
import fastify, { type FastifyInstance } from 'fastify';
import { answerDocument } from './document-download.js';
import { answerTo } from './errors.js';

const sizeBytes = 3_000_000;
const partBytes = 100_000;
let app: FastifyInstance;
let readBytes: number;

/** Counts what is read. */
const documents: DocumentStore = {
  async *read(key, _owner, { start, end }: ByteRange = { start: 0, end: sizeBytes }) {
    if (key === 'missing') throw new DocumentMissing(key);
    for (let at = start; at < end; at += partBytes) {
      const part = new Uint8Array(Math.min(partBytes, end - at));
      readBytes += part.length;
      yield await Promise.resolve(part);
    }
  },
  write: () => Promise.reject(new Error('nothing is written')),
  remove: () => Promise.reject(new Error('nothing is removed')),
};

beforeEach(() => {
  readBytes = 0;
  app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(answerTo(error).status).send());
  app.get('/:key', async (request, reply) => {
    const { key } = request.params as { readonly key: string };
    const document = {
      ...{
        key,
        owner: 'originator:1' as const,
        sizeBytes,
        sha256: 'ab',
        mediaType: 'application/pdf',
      },
      ...{ fileName: 'statement.pdf', of: 'statement' },
    };
    return reply.send(await answerDocument(documents, document, request, reply));
  });
});
afterEach(() => app.close());

it('a HEAD is answered with length and hash, and reads no document', async () => {
  const answer = await app.inject({ method: 'HEAD', url: '/there' });
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({ 'content-length': String(sizeBytes), etag: '"ab"' });
  expect(answer.rawPayload).toHaveLength(0);
  expect(readBytes).toBeLessThanOrEqual(1);
});

it('a client that has the document costs no reading of it', async () => {
  const answer = await app.inject({ url: '/there', headers: { 'if-none-match': '"ab"' } });
  expect(answer.statusCode).toBe(304);
  expect(readBytes).toBeLessThanOrEqual(1);
});

it.each(['GET', 'HEAD'] as const)(
  'a document that is gone is no answer to a %s',
  async (method) => {
    expect((await app.inject({ method, url: '/missing' })).statusCode).toBe(404);
  },
);

it('a GET has the whole document', async () => {
  const answer = await app.inject({ url: '/there' });
  expect(answer.rawPayload).toHaveLength(sizeBytes);
});
