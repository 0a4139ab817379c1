import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@pis/local-servers/testing';
import { apiPath } from './routes.js';
import { type Board, startBoard } from './testing/board.js';

let board: Board;
let address: string;
beforeAll(async () => {
  board = await startBoard();
  await board.app.listen(0, '127.0.0.1');
  const { port } = board.app.getHttpServer().address() as AddressInfo;
  address = `http://127.0.0.1:${port}`;
});
afterAll(() => board?.close());

const soon = { timeoutMs: 60_000 };

async function viewer() {
  const organizationId = await board.newOrganization();
  const user = await board.newUser('viewer', organizationId);
  return { organizationId, cookie: await board.signedIn(user) };
}

/** Rows of the list, a second apart. */
async function listed(organizationId: string, count: number, note = 'Invoice'): Promise<void> {
  await board.pool.query(
    `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
        external_payment_id, created_at, revision, item)
      SELECT id, $1, $2::uuid, status, 'OUTBOUND', 'ACH', NULL, at, 0, json_build_object(
        'paymentId', id, 'status', status, 'createdAt', at, 'completedAt', NULL, 'failedAt', NULL,
        'returnedAt', NULL, 'canceledAt', NULL, 'paymentAmount', n, 'discountFee', 1, 'flatFee', 2,
        'returnFee', 3, 'currencyCode', 'USD', 'paymentRail', 'ACH', 'direction', 'OUTBOUND',
        'paymentNote', $4::text, 'externalPaymentId', '=1+1', 'failureCode', NULL, 'failureMessage', NULL,
        'originator', json_build_object('id', $2::uuid, 'firstName', NULL, 'lastName', NULL,
          'companyName', 'Board, "Trading" LLC', 'entityType', 'BUSINESS'),
        'contact', NULL)
      FROM (SELECT gen_random_uuid() AS id, n,
          CASE WHEN n % 2 = 0 THEN 'COMPLETED' ELSE 'FAILED' END AS status,
          timestamptz '2026-11-01T00:00:00Z' + n * interval '1 second' AS at
        FROM generate_series(1, $3::integer) AS n) AS rows`,
    [organizationId, randomUUID(), count, note],
  );
}

const linesOf = (text: string) => text.split('\r\n');

it('has a header of the API’s fields and all payments of the filter, the newest first', async () => {
  const { organizationId, cookie } = await viewer();
  const other = await viewer();
  await listed(organizationId, 1_234);
  await listed(other.organizationId, 3);
  const reply = await board.call('/payments/export?status=COMPLETED', { cookie });
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="payments.csv"',
    'cache-control': 'no-store',
  });
  const [header = '', first = '', ...rest] = linesOf(reply.text);
  expect(header).toMatch(
    /^paymentId,status,createdAt,.*,paymentAmount,.*,originator\.companyName,contact\.id,/,
  );
  expect(first).toMatch(
    /^[0-9a-f-]{36},COMPLETED,2026-11-01T00:20:34.*,1234,1,2,3,USD,ACH,OUTBOUND,Invoice,'=1\+1,,,.*,"Board, ""Trading"" LLC",,,,,$/,
  );
  // The last line ends with CRLF.
  expect(rest).toHaveLength(617);
  expect(rest.at(-1)).toBe('');
  const none = await board.call('/payments/export?createdFrom=2026-12-01', { cookie });
  expect(linesOf(none.text)).toEqual([header, '']);
  expect((await board.call('/payments/export?status=nope', { cookie })).status).toBe(400);
  expect((await board.call('/payments/export')).status).toBe(401);
});

interface Download {
  readonly status: number;
  /** Reads on to the end. Rejects when the answer breaks off. */
  rest(): Promise<number>;
  close(): void;
}

/** Reads nothing after the headers. */
function download(cookie: string): Promise<Download> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${address}${apiPath}/payments/export`, { headers: { cookie } });
    request.once('error', reject);
    request.once('response', (response) => {
      resolve({
        status: response.statusCode ?? 0,
        async rest() {
          let bytes = 0;
          for await (const chunk of response) bytes += (chunk as Buffer).length;
          return bytes;
        },
        close: () => request.destroy(),
      });
    });
  });
}

describe('a long export', () => {
  const rows = 20_000;
  const note = 'n'.repeat(500);

  it('waits for a client that reads slowly, breaks off with the session, and is then not taken for whole', async () => {
    const organizationId = await board.newOrganization();
    const user = await board.newUser('viewer', organizationId);
    const [cookie, other] = [await board.signedIn(user), await board.signedIn(user)];
    await listed(organizationId, rows, note);
    const whole = await download(cookie);
    expect(await whole.rest()).toBeGreaterThan(rows * note.length);

    // Nothing of them is read: the server waits in the middle of the files.
    const broken = [await download(cookie), await download(cookie)];
    const another = async () => {
      const one = await download(other);
      one.close();
      return one.status;
    };
    expect(await another()).toBe(429);
    await board.call('/sign-out', { method: 'POST', cookie });
    await until(async () => (await another()) === 200, soon);
    for (const one of broken) await expect(one.rest()).rejects.toThrow();
  }, 60_000);

  it('is one of two of an organization', async () => {
    const { organizationId, cookie } = await viewer();
    await listed(organizationId, rows, note);
    const [first, second] = [await download(cookie), await download(cookie)];
    const third = await board.call('/payments/export', { cookie });
    expect(third.status).toBe(429);
    expect(third.headers['retry-after']).toBe('10');
    first.close();
    // Also a canceled one makes room.
    await until(async () => {
      const next = await download(cookie);
      next.close();
      return next.status === 200;
    }, soon);
    second.close();
  }, 60_000);
});
