/** Downloads of statements that take their time: how many at once, and with a key that is revoked meanwhile. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { createApiKey, digestOfApiKey, revokeApiKey, unrefused } from '@pis/commands';
import type { DocumentStore } from '@pis/documents';
import { until } from '@pis/local-servers/testing';
import { by, type Gateway, startGatewayWithDatabase, type Tenant } from './testing/gateway.js';
import { recordStatement } from './testing/statements.js';
import { DOCUMENTS } from './tokens.js';

jest.setTimeout(120_000);
const timeoutMs = 60_000;
const chunkBytes = 1024 * 1024;
/** More than the buffers of a connection hold. */
const sizeBytes = 64 * chunkBytes;

let gateway: Gateway;
let tenant: Tenant;
let documents: DocumentStore;
let read: DocumentStore['read'];
beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
  await gateway.app.listen(0, '127.0.0.1');
  tenant = await gateway.createTenant();
  documents = gateway.app.get<DocumentStore>(DOCUMENTS);
  read = documents.read.bind(documents);
});
afterEach(() => void (documents.read = read));
afterAll(() => gateway?.close());

const url = (statementId: string) => {
  const { port } = gateway.app.getHttpServer().address() as AddressInfo;
  return `http://127.0.0.1:${port}/v1/statements/${statementId}/pdf`;
};
const headersOf = (key: string) => ({ authorization: `Bearer ${key}` });
const get = (statementId: string, of = tenant, method: 'GET' | 'HEAD' = 'GET') =>
  gateway.app.inject({
    method,
    url: `/v1/statements/${statementId}/pdf`,
    headers: headersOf(of.keys.read_only),
  });

it('four of an organization are under way at a time, those of others beside them, and a fifth is told to wait', async () => {
  const other = await gateway.createTenant();
  const [mine, theirs] = [
    await recordStatement(gateway, tenant.organizationId, { sizeBytes: 1 }),
    await recordStatement(gateway, other.organizationId, { sizeBytes: 1 }),
  ];
  const released = Promise.withResolvers<void>();
  let begun = 0;
  documents.read = async function* () {
    begun += 1;
    await released.promise;
    yield Buffer.from('%');
  };
  const four = [1, 2, 3, 4].map(() => get(mine.statementId));
  const others = get(theirs.statementId, other);
  await until(() => begun === 5, { timeoutMs });
  const fifth = await get(mine.statementId);
  expect(fifth.statusCode).toBe(429);
  expect(fifth.headers['retry-after']).toBeDefined();
  expect(fifth.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } });
  expect(begun).toBe(5);
  released.resolve();
  const answers = await Promise.all([...four, others]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
  for (let count = 0; count < 5; count += 1)
    expect((await get(mine.statementId, tenant, 'HEAD')).statusCode).toBe(200);
  expect((await get(mine.statementId)).statusCode).toBe(200);
});

it('is cut off with the revocation of its key, although the client has stopped reading', async () => {
  const { organizationId } = tenant;
  const { statementId } = await recordStatement(gateway, organizationId, { sizeBytes });
  const context = { store: gateway.store, by };
  const readOnly = { organizationId, type: 'read_only', environment: 'sandbox' } as const;
  const { apiKey } = unrefused(await createApiKey(context, readOnly));
  let [chunks, isEnded] = [0, false];
  documents.read = async function* (_key, _owner, range = { start: 0, end: sizeBytes }) {
    const isFirstByte = range.end === 1;
    try {
      for (let at = range.start; at < range.end; at += chunkBytes) {
        if (!isFirstByte) chunks += 1;
        yield Buffer.alloc(Math.min(chunkBytes, range.end - at));
      }
    } finally {
      isEnded ||= !isFirstByte;
    }
  };
  const request = http.get(url(statementId), { headers: headersOf(apiKey) });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  const broken = once(response, 'error') as Promise<[Error]>;
  unrefused(await revokeApiKey(context, { digest: digestOfApiKey(apiKey) }));
  // Nothing was read of it.
  await until(() => isEnded, { timeoutMs, what: 'the end of the download' });
  expect(chunks).toBeLessThan(sizeBytes / chunkBytes);
  response.resume();
  expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
  expect(response.complete).toBe(false);
});
