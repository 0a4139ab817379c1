/** Downloads of statements in the dashboard: how many at once, and when a session ends meanwhile. */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { postgresDocuments, statementKey } from '@pis/documents';
import { statement as statements } from '@pis/domain';
import { repository } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { until } from '@pis/local-servers/testing';
import { apiPath } from './routes.js';
import { type Board, by, origin, startBoard } from './testing/board.js';

jest.setTimeout(120_000);
const timeoutMs = 60_000;
/** More than the buffers of a connection hold. */
const sizeBytes = 24 * 1024 * 1024;

let board: Board;
beforeAll(async () => {
  board = await startBoard();
  await board.app.listen(0, '127.0.0.1');
});
afterAll(() => board?.close());

const none = { count: 0, amountMinor: 0 };
const open = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };
const figures = {
  ...{ opening: open, closing: open, paymentsIn: none, paymentsOut: none, withoutMovement: none },
  ...{ returnsIn: none, returnsOut: none, collections: none, collectionReturns: none, fees: none },
};

async function statementOf(organizationId: string): Promise<string> {
  const [statementId, originatorId] = [randomUUID(), randomUUID()];
  const subject = { statementId, organizationId, originatorId };
  async function* bytes() {
    yield randomBytes(sizeBytes);
  }
  const documents = postgresDocuments(board.pool, board.keyring);
  const owner = ownerOf.originator(originatorId);
  const written = await documents.write(statementKey(subject), owner, bytes());
  const period = { periodYear: 2026, periodMonth: 9, timeZone: 'America/New_York' };
  const cutoff = { to: '2026-10-01T04:00:00.000Z', through: '1', after: null };
  const data = { ...subject, ...period, ...cutoff, ...written, figures };
  const command = { type: 'RecordStatement', at: new Date().toISOString(), data } as const;
  await repository(board.store, statements).create(statementId, command, by);
  return statementId;
}

/** Over a connection, of which nothing more is read than the headers. */
async function stalled(path: string, cookie: string): Promise<IncomingMessage> {
  const { port } = board.app.getHttpServer().address() as AddressInfo;
  const request = http.get({
    ...{ host: '127.0.0.1', port, path: `${apiPath}${path}`, agent: false },
    headers: { cookie, host: new URL(origin).host, 'sec-fetch-site': 'same-origin' },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

it('a statement has four downloads at a time, and those of a session that ends are cut off', async () => {
  const organizationId = await board.newOrganization();
  const [ada, bob] = [
    await board.signedIn(await board.newUser('viewer', organizationId)),
    await board.signedIn(await board.newUser('viewer', organizationId)),
  ];
  const path = `/statements/${await statementOf(organizationId)}/pdf`;
  const held = [];
  for (let count = 0; count < 4; count += 1) held.push(await stalled(path, ada));
  expect(held.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  expect((await board.call(path, { cookie: bob })).status).toBe(429);

  await board.call('/sign-out', { method: 'POST', cookie: ada });
  // Their client has read nothing.
  await until(async () => (await board.call(path, { cookie: bob })).status === 200, {
    timeoutMs,
    what: 'room for another download',
  });
  for (const response of held) {
    const broken = once(response, 'error') as Promise<[Error]>;
    response.resume();
    expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
  }
});
