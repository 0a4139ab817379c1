import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { createApiKey, digestOfApiKey, revokeApiKey, unrefused } from '@pis/commands';
import { ExportFiles } from '@pis/exports';
import { until } from '@pis/local-servers/testing';
import {
  by,
  type Call,
  type Gateway,
  type Reply,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';
import { writeExports } from './testing/exports.js';
import { codeOf, createPayer, issuesOf, type Payer } from './testing/payments.js';

jest.setTimeout(120_000);

let gateway: Gateway;
let payer: Payer;
let tenant: Tenant;
beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
  payer = await createPayer(gateway);
  ({ tenant } = payer);
  for (let count = 0; count < 3; count += 1) await payer.pay();
  // The list has them.
  await call('/v1/payments/');
});
afterAll(() => gateway?.close());

const call = (path: string, options: Call & { tenant?: Tenant } = {}) =>
  gateway.call(path, { tenant, ...options });
const ask = (body: object, options: Call & { tenant?: Tenant } = {}) =>
  call('/v1/exports', { method: 'POST', body, ...options });
const dataOf = (reply: Reply) => reply.body?.data as Record<string, unknown>;

async function written(body: object): Promise<string> {
  const { exportId } = dataOf(await ask(body)) as { exportId: string };
  await writeExports(gateway);
  return exportId;
}

/** The file is no JSON. */
const file = (
  exportId: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
) =>
  gateway.app.inject({
    method,
    url: `/v1/exports/${exportId}/file`,
    headers: { authorization: `Bearer ${tenant.keys.full_access}`, ...headers },
  });

describe('an export', () => {
  it('is accepted, then written, and then has its figures and its file', async () => {
    const accepted = await ask({ kind: 'payments', format: 'csv', from: '2000-01-01' });
    expect(accepted.status).toBe(202);
    expect(dataOf(accepted)).toEqual({ exportId: expect.any(String), status: 'queued' });
    const { exportId } = dataOf(accepted) as { exportId: string };
    expect(codeOf(await call(`/v1/exports/${exportId}/file`))).toBe('409 CONFLICT');

    await writeExports(gateway);
    const { body } = await file(exportId);
    const sha256 = createHash('sha256').update(body).digest('hex');
    expect(dataOf(await call(`/v1/exports/${exportId}`))).toEqual({
      exportId,
      status: 'completed',
      kind: 'payments',
      format: 'csv',
      from: '2000-01-01T00:00:00.000Z',
      to: null,
      originatorId: null,
      rows: 3,
      sizeBytes: Buffer.byteLength(body),
      sha256,
      progress: 1,
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      expiresAt: expect.any(String),
      reason: null,
    });
    expect(body.split('\r\n')).toHaveLength(1 + 3 + 1);
  });

  it('has the API’s objects as JSON Lines, only those of the originator and the time', async () => {
    const shown = dataOf(await call('/v1/payments/')) as unknown as object[];
    const { originatorId } = tenant;
    const all = await file(await written({ kind: 'payments', format: 'jsonl', originatorId }));
    const lines = all.body.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(shown);
    const past = await written({ kind: 'payments', format: 'jsonl', to: '2001-01-01' });
    expect((await file(past)).body).toBe('');
    expect((await call(`/v1/exports/${past}`)).body?.data).toMatchObject({ rows: 0, sizeBytes: 0 });
  });

  it('gives ranges of its file, and says when nothing has changed', async () => {
    const exportId = await written({ kind: 'payments', format: 'csv' });
    const whole = await file(exportId);
    const { etag, 'content-length': length } = whole.headers;
    expect(whole.headers).toMatchObject({
      etag: `"${createHash('sha256').update(whole.body).digest('hex')}"`,
      'accept-ranges': 'bytes',
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="payments.csv"',
    });
    const size = Number(length);
    const part = await file(exportId, { range: 'bytes=10-19' });
    expect([part.statusCode, part.body]).toEqual([206, whole.body.slice(10, 20)]);
    expect(part.headers['content-range']).toBe(`bytes 10-19/${size}`);
    for (const [range, from] of [
      ['bytes=100-', 100],
      [`bytes=${size - 1}-`, size - 1],
      ['bytes=-7', size - 7],
      [`bytes=5-${size * 2}`, 5],
    ] as const) {
      const rest = await file(exportId, { range });
      expect([range, rest.statusCode, rest.body]).toEqual([range, 206, whole.body.slice(from)]);
    }
    for (const headers of [
      { range: 'bytes=9-2' },
      { range: 'rows=1-2' },
      { range: 'bytes=0-1,3-4' },
      { range: 'bytes=0-1', 'if-range': '"another"' },
    ])
      expect((await file(exportId, headers)).statusCode).toBe(200);
    const again = await file(exportId, { range: 'bytes=0-1', 'if-range': String(etag) });
    expect(again.statusCode).toBe(206);
    const beyond = await file(exportId, { range: `bytes=${size}-` });
    expect([beyond.statusCode, beyond.headers['content-range']]).toEqual([416, `bytes */${size}`]);
    expect(beyond.json()).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } });
    const same = await file(exportId, { 'if-none-match': String(etag) });
    expect([same.statusCode, same.body]).toEqual([304, '']);
    const head = await file(exportId, {}, 'HEAD');
    expect([head.statusCode, head.headers['content-length'], head.body]).toEqual([200, length, '']);
  });

  it('has another organization’s export not at all, and needs a key that writes', async () => {
    const exportId = await written({ kind: 'payments', format: 'csv' });
    const other = await gateway.createTenant();
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/file'],
      ['POST', '/cancel'],
    ] as const) {
      const reply = await call(`/v1/exports/${exportId}${path}`, { tenant: other, method });
      expect([path, codeOf(reply)]).toEqual([path, '404 NOT_FOUND']);
    }
    expect(dataOf(await call('/v1/exports', { tenant: other }))).toEqual([]);
    const key = tenant.keys.read_only;
    expect(codeOf(await ask({ kind: 'payments', format: 'csv' }, { key }))).toBe('403 FORBIDDEN');
    const cancel = { key, method: 'POST' } as const;
    expect(codeOf(await call(`/v1/exports/${exportId}/cancel`, cancel))).toBe('403 FORBIDDEN');
    expect((await call(`/v1/exports/${exportId}`, { key })).status).toBe(200);
    const foreign = { kind: 'payments', format: 'csv', originatorId: other.originatorId };
    expect(codeOf(await ask(foreign))).toBe('404 NOT_FOUND');
  });

  it('is not downloaded further with a key that was revoked meanwhile', async () => {
    const exportId = await written({ kind: 'payments', format: 'csv' });
    const context = { store: gateway.store, by };
    const { organizationId } = tenant;
    const sandboxKey = { organizationId, type: 'read_only', environment: 'sandbox' } as const;
    const { apiKey } = unrefused(await createApiKey(context, sandboxKey));
    const isRefused = async () => (await call('/v1/exports', { key: apiKey })).status === 401;
    const files = gateway.app.get(ExportFiles);
    const read = files.read.bind(files);
    let sent = 0;
    files.read = async function* (...given) {
      for await (const bytes of read(...given)) {
        yield bytes.subarray(0, 1);
        sent += 1;
        unrefused(await revokeApiKey(context, { digest: digestOfApiKey(apiKey) }));
        await until(isRefused, { timeoutMs: 60_000 });
        yield bytes.subarray(1);
        sent += 1;
      }
    };
    try {
      const download = file(exportId, { authorization: `Bearer ${apiKey}` });
      await expect(download).rejects.toThrow();
    } finally {
      files.read = read;
    }
    expect(sent).toBe(1);
    const later = await file(exportId, { authorization: `Bearer ${apiKey}` });
    expect(later.statusCode).toBe(401);
  });

  it('is canceled with its file', async () => {
    const exportId = await written({ kind: 'payments', format: 'csv' });
    const canceled = await call(`/v1/exports/${exportId}/cancel`, { method: 'POST' });
    expect(dataOf(canceled)).toMatchObject({ status: 'canceled', sha256: null, expiresAt: null });
    expect(codeOf(await call(`/v1/exports/${exportId}/file`))).toBe('409 CONFLICT');
    const again = await call(`/v1/exports/${exportId}/cancel`, { method: 'POST' });
    expect(dataOf(again)).toEqual(dataOf(canceled));
  });
});

describe('a request', () => {
  it('names everything that is wrong', async () => {
    for (const [body, issues] of [
      [{}, ['kind validation_required', 'format validation_required']],
      [{ kind: 'x', format: 'y' }, ['kind validation_enum', 'format validation_enum']],
      [{ kind: 'payments', format: 'camt053' }, ['format validation_enum']],
      [{ kind: 'fees', format: 'bai2' }, ['format validation_enum']],
      [
        { kind: 'payments', format: 'csv', from: '2026-02-02', to: '2026-02-01' },
        ['to validation_date_range'],
      ],
      [
        { kind: 'payments', format: 'csv', from: 'x', originatorId: 'y' },
        ['from validation_datetime', 'originatorId validation_uuid'],
      ],
    ] as const) {
      const reply = await ask(body);
      expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
      expect(issuesOf(reply)).toEqual(issues);
    }
    expect(codeOf(await call(`/v1/exports/${randomUUID()}`))).toBe('404 NOT_FOUND');
    expect(codeOf(await call('/v1/exports/x'))).toBe('400 VALIDATION_ERROR');
  });

  it('is refused while five are under way, and pages the list', async () => {
    const other = await gateway.createTenant();
    const one = { kind: 'payments', format: 'csv' };
    const ids: unknown[] = [];
    for (let count = 0; count < 5; count += 1)
      ids.unshift(dataOf(await ask(one, { tenant: other }))['exportId']);
    expect(codeOf(await ask(one, { tenant: other }))).toBe('409 CONFLICT');
    const listed: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = await call(`/v1/exports?limit=2${after}`, { tenant: other });
      listed.push(
        ...(dataOf(page) as unknown as { exportId: string }[]).map(({ exportId }) => exportId),
      );
      cursor = page.body?.meta?.pagination?.nextCursor ?? null;
    }
    expect(new Set(listed)).toEqual(new Set(ids));
    expect(listed).toHaveLength(5);
    await writeExports(gateway);
    expect((await ask(one, { tenant: other })).status).toBe(202);
  });
});
