/** `pis audit`: what it prints of a log, and of one that was altered. It needs no master key. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { AuditLog, noteSigner, postgresLog, verifyLog, wantCheckpoint } from '@pis/audit';
import { payment } from '@pis/domain';
import { ids, paymentEvents, paymentExample, railDecisionExample } from '@pis/domain/testing';
import { postgresEventStore, repository, sealedStore } from '@pis/event-store';
import { createKeyring, MasterKeys, pgDataKeyTable, storeMacRoot } from '@pis/keyring';
import { takeLock } from '@pis/local-servers';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { paymentsProjection, ProjectionRunner } from '@pis/read-models';
import { attachmentsOf } from '@pis/statements/testing';
import type pg from 'pg';
import { pis, pisJson, withoutProgress } from './support/process.js';
import { freshCheckout, sessionOf } from './support/readme.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

const caughtUpWithinMs = 60_000;
const sessionTimeoutMs = 90_000;
const { queued, processing, completed } = paymentEvents;
const by = {
  actor: `user:${ids.contact}`,
  requestId: 'request-1',
  correlationId: 'request-1',
  causationId: null,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const keyId = ids.otherContact;
const masterKey = randomBytes(32);
/** Of the caller of the second event. */
const address = '203.0.113.77';
const addressOwner = `organization:${ids.organization}` as const;

let scratch: string;
let database: TestDatabase;
let environment: Record<string, string>;
let pool: pg.Pool;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-audit-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  environment = { DATABASE_URL: database.url, PIS_ENVIRONMENT: 'production' };
  const masterKeys = new MasterKeys([masterKey]);
  await storeMacRoot(pool, masterKeys, { root: randomBytes(32), v1KeyId: null });
  const keyring = createKeyring({
    masterKeys,
    table: pgDataKeyTable(pool),
  });
  const store = sealedStore(postgresEventStore({ pool }), keyring);
  const payments = repository(store, payment);
  const data = paymentExample({ idempotencyKey: null, railDecision: railDecisionExample });
  const life = [
    { event: { ...queued, at: '2026-01-01T00:00:00.000Z', data }, context: by },
    {
      event: { ...processing, at: '2026-01-02T00:00:00.000Z' },
      context: { ...by, actor: `apiKey:${keyId}`, caller: { owner: addressOwner, address } },
    },
    { event: { ...completed, at: '2026-01-03T00:00:00.000Z' }, context: by },
  ];
  for (const { event, context } of life)
    await payments.append(ids.payment, await payments.load(ids.payment), [event], context);
  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
  runner.start();
  const isThere = await runner.waitFor(await store.lastPosition(), caughtUpWithinMs);
  await runner.stop();
  await store.close();
  if (!isThere) throw new Error('the projection has not caught up in time');
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

interface Report {
  readonly ok: boolean;
  readonly rootHash: string;
}

interface Life {
  readonly events: readonly { readonly address: string | null }[];
}

async function audited(...options: string[]): ReturnType<typeof pis> {
  const { stderr, ...others } = await pis(['audit', 'verify', ...options], environment);
  return { ...others, stderr: withoutProgress(stderr) };
}

function noteOf(treeSize: number, rootHash: string): string {
  const file = path.join(scratch, `checkpoint-${treeSize}.txt`);
  writeFileSync(file, `pis.example\n${treeSize}\n${rootHash}\n\n— pis.example AAAA\n`);
  return file;
}

it('audit verify says that a whole log holds, also against a kept checkpoint', async () => {
  const report = await pisJson<Report>(['audit', 'verify'], environment);
  expect(report).toMatchObject({
    ok: true,
    eventsRead: 3,
    eventsPerSecond: expect.any(Number),
    findings: [],
  });
  const file = noteOf(3, report.rootHash);
  const again = await audited('--checkpoint', file);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(again.stdout).toContain('1 checkpoint compared\neverything holds\n');
});

it('audit verify names what was altered, with exit code 1', async () => {
  const alter = (from: string, to: string) =>
    pool.query('UPDATE events SET data = replace(data::text, $1, $2)::json', [from, to]);
  await alter('125000', '125001');
  const differs = 'previousHash is not the hash of revision 0: one of the two was altered';
  const lines = await audited();
  const json = await pis(['audit', 'verify', '--json'], environment);
  await alter('125001', '125000');
  expect(lines).toMatchObject({ code: 1, stderr: '' });
  expect(lines.stdout.split('\n')[0]).toBe(
    `payment-${ids.payment} revision 1 (position 2): ${differs}`,
  );
  expect(lines.stdout).toContain(`payments row ${ids.payment} column item.paymentAmount: `);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    findings: [
      { stream: `payment-${ids.payment}`, revision: 1, differs },
      { table: 'payments', row: ids.payment, column: 'item.paymentAmount' },
    ],
  });
});

it('audit verify names the row and the column of a read model that is not what the log says', async () => {
  await pool.query("UPDATE payments SET status = 'FAILED'");
  const lines = await audited();
  const json = await pis(['audit', 'verify', '--json'], environment);
  const without = await audited('--no-read-models');
  await pool.query("UPDATE payments SET status = 'COMPLETED'");
  const differs = 'it is not what the log says';
  expect(lines).toMatchObject({ code: 1, stderr: '' });
  expect(lines.stdout.split('\n')[0]).toBe(`payments row ${ids.payment} column status: ${differs}`);
  expect(lines.stdout).toMatch(/^1 row of \d+ read models compared with the log$/m);
  expect(lines.stdout).toContain('names and accounts were not compared: there is no master key\n');
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    findings: [{ stream: null, table: 'payments', row: ids.payment, column: 'status', differs }],
    findingsTotal: 1,
    readModels: { personalData: false },
  });
  expect(without).toMatchObject({ code: 0, stderr: '' });
  expect(without.stdout).toContain('read models were not compared\n');
});

it.each([
  ['an event was removed', 'DELETE FROM events WHERE revision = 1', 'the log has no event', 1],
  [
    'the first event has another type',
    `UPDATE events SET type = 'PaymentCompleted' WHERE revision = 0`,
    'the webhook body cannot be computed',
    0,
  ],
  [
    'an event has no metadata',
    `UPDATE events SET metadata = '{}' WHERE revision = 1`,
    'the webhook body cannot be computed',
    1,
  ],
])('audit verify prints its whole report when %s', async (_what, alter, differs, revision) => {
  await pool.query('CREATE TABLE kept AS SELECT * FROM events');
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO integration_events
      SELECT $1, '2', id, 'payment.processing', stream_id, revision, $2, now() FROM events WHERE revision = 1
      RETURNING event_id AS id`,
    [ids.organization, ids.payment],
  );
  await pool.query(`INSERT INTO webhook_body_hashes
    SELECT occurred_at, event_id, 1, decode('${'00'.repeat(32)}', 'hex') FROM integration_events`);
  // The audit does not wait for the projection then.
  await pool.query(`INSERT INTO projection_checkpoints (name, position, kinds_read)
    SELECT 'events', position, jsonb_build_object('statement-', position)
      FROM projection_checkpoints WHERE name = 'payments'`);
  await pool.query(alter);
  const lines = await pis(['audit', 'verify'], environment).finally(() =>
    pool.query(`DELETE FROM events; INSERT INTO events SELECT * FROM kept; DROP TABLE kept;
      DELETE FROM integration_events; DELETE FROM webhook_body_hashes;
      DELETE FROM projection_checkpoints WHERE name = 'events'`),
  );
  expect(lines.code).toBe(1);
  const finding = lines.stdout
    .split('\n')
    .find((line) => line.startsWith(`webhook_body_hashes row ${rows[0]?.id}: `));
  expect(finding).toContain(differs);
  expect(finding).toContain(` (payment-${ids.payment} revision ${revision})`);
  expect(lines.stdout).toMatch(/\d+ findings?\n$/);
});

it('audit verify finds a log that is not consistent with a kept checkpoint', async () => {
  const file = noteOf(4, Buffer.alloc(32).toString('base64'));
  const { code, stdout } = await pis(['audit', 'verify', '--checkpoint', file], environment);
  expect(code).toBe(1);
  expect(stdout).toContain(`log: the log has 3 leaves, ${file} has 4: events are missing`);
});

it('audit verify goes on from the state of an audit that was stopped, and then removes it', async () => {
  const state = path.join(scratch, 'audit.state');
  const goOn = () => audited('--state', state);
  await verifyLog({ source: postgresLog(pool), state: { file: state } });
  const whole = await goOn();
  expect(whole).toMatchObject({ code: 0, stderr: 'pis: goes on behind 3 events\n' });
  expect(whole.stdout).toContain('everything holds\n');
  expect(existsSync(state)).toBe(false);
  const release = takeLock(scratch, 'audit.state.lock');
  expectRefusal(await goOn(), /audit\.state: another audit uses it/);
  release();
  writeFileSync(state, 'other');
  expectRefusal(await goOn(), /damaged, or no state of an audit/);
});

it('audit verify refuses a file that is no checkpoint', async () => {
  const file = path.join(scratch, 'other.txt');
  writeFileSync(file, 'other');
  expectRefusal(
    await pis(['audit', 'verify', '--checkpoint', file], environment),
    /not a checkpoint note/,
  );
});

it('audit show tells who did what with a payment, and when', async () => {
  const shown = await pisJson<object>(['audit', 'show', ids.payment], environment);
  expect(shown).toMatchObject({
    paymentId: ids.payment,
    status: 'COMPLETED',
    events: [
      {
        at: '2026-01-01T00:00:00.000Z',
        type: 'PaymentQueued',
        actor: by.actor,
        keyId: null,
        address: null,
        requestId: 'request-1',
        traceId: '0af7651916cd43dd8448eb211c80319c',
        paymentRail: 'ACH',
        railDecision: railDecisionExample,
      },
      {
        type: 'PaymentProcessing',
        actor: `apiKey:${keyId}`,
        keyId,
        address: null,
        addressOwner,
        railReference: 'rail-1',
      },
      { type: 'PaymentCompleted' },
    ],
  });
  const { code, stdout } = await pis(['audit', 'show', ids.payment], environment);
  expect(code).toBe(0);
  expect(stdout).toContain(`payment ${ids.payment}: COMPLETED\n`);
  expect(stdout).toContain('not taken: FEDNOW: bank_not_reachable\n');
});

it('audit show opens the addresses of callers with the master key alone', async () => {
  const withKey = { ...environment, PIS_MASTER_KEY: masterKey.toString('base64') };
  const { events } = await pisJson<Life>(['audit', 'show', ids.payment], withKey);
  expect(events.map((event) => event.address)).toEqual([null, address, null]);
  const wrongKey = { ...environment, PIS_MASTER_KEY: randomBytes(32).toString('base64') };
  const { code, stdout } = await pis(['audit', 'show', ids.payment], wrongKey);
  expect(code).toBe(0);
  expect(stdout).toContain(`address: sealed under the key of ${addressOwner}\n`);
});

it('audit show records who opens addresses, and opens none where it cannot', async () => {
  const recorded = async () => {
    const { rows } = await pool.query<{ type: string; data: object }>(
      `SELECT type, data FROM events WHERE stream_id LIKE 'operatorAction-%' ORDER BY position`,
    );
    return rows;
  };
  const show = ['audit', 'show', ids.payment];
  const withKey = { ...environment, PIS_MASTER_KEY: masterKey.toString('base64') };
  const earlier = (await recorded()).length;
  const by = ['--actor', 'ada', '--reason', 'OPS-17'];
  expect((await pis([...show, ...by], withKey)).stdout).toContain(address);
  expect((await recorded()).slice(earlier)).toMatchObject([
    {
      type: 'OperatorActionStarted',
      data: {
        ...{ action: 'audit show', subject: { paymentId: ids.payment } },
        ...{ actor: 'ada', reason: 'OPS-17' },
      },
    },
    { type: 'OperatorActionSucceeded', data: { outcome: { addresses: 1 } } },
  ]);

  const readOnly = new URL(database.url);
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
  const auditor = { ...withKey, DATABASE_URL: readOnly.href };
  const refused = await pis(show, auditor);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('read-only transaction');
  for (const [args, as] of [
    [[...show, '--no-addresses'], auditor],
    [['audit', 'timeline', ids.payment], auditor],
    [show, { ...environment, DATABASE_URL: readOnly.href }],
  ] as const) {
    const { code, stdout } = await pis([...args], as);
    expect({ code, isOpen: stdout.includes(address) }).toEqual({ code: 0, isOpen: false });
  }
  expect(await recorded()).toHaveLength(earlier + 2);
});

it('audit show tells what was known at a time', async () => {
  const asOf = (time: string) =>
    pisJson<object>(['audit', 'show', ids.payment, '--as-of', time], environment);
  expect(await asOf('2026-01-02T01:00:00+01:00')).toMatchObject({
    status: 'PROCESSING',
    events: [{ type: 'PaymentQueued' }, { type: 'PaymentProcessing' }],
  });
  expect(await asOf('2025-01-01T00:00:00Z')).toMatchObject({ status: null, events: [] });
});

it.each([
  ['a payment that does not exist', [ids.organization], /there is no payment or collection/],
  ['what is no ID', ['x'], /PAYMENT_ID/],
  ['a time in the future', [ids.payment, '--as-of', '2999-01-01T00:00:00Z'], /not in the future/],
  ['what is no time', [ids.payment, '--as-of', 'noon'], /ISO 8601/],
])('audit show refuses %s', async (_what, args, reason) => {
  expectRefusal(await pis(['audit', 'show', ...args], environment), reason);
});

it('audit show, timeline and diff write HTML, JSON and text', async () => {
  const out = path.join(scratch, 'show.html');
  const wrote = await pis(
    ['audit', 'show', ids.payment, '--format', 'html', '--out', out],
    environment,
  );
  expect(wrote).toMatchObject({ code: 0, stdout: '' });
  expect(readFileSync(out, 'utf8')).toContain(`<h1>Payment ${ids.payment}</h1>`);
  const timeline = await pisJson<object>(['audit', 'timeline', ids.payment], environment);
  expect(timeline).toMatchObject({ durationMs: 172_800_000, entries: [{}, {}, {}] });
  const points = ['--from', '2026-01-01T12:00:00Z', '--to', '2'];
  const { stdout } = await pis(['audit', 'diff', ids.payment, ...points], environment);
  expect(stdout).toContain('status: QUEUED → COMPLETED\n');
});

it.each([
  ['a PDF without a file', ['show', ids.payment, '--format', 'pdf'], /--format pdf needs --out/],
  ['a point that is none', ['diff', ids.payment, '--from', 'x', '--to', '1'], /must be a revision/],
  ['an unknown payment', ['timeline', ids.organization], /there is no payment or collection/],
])('audit refuses %s', async (_what, args, reason) => {
  expectRefusal(await pis(['audit', ...args], environment), reason);
});

it('an auditor follows docs/audit.md, and the proofs in the PDF hold', async () => {
  const signer = noteSigner(randomBytes(32));
  const store = postgresEventStore({ pool });
  const log = new AuditLog({ store, pool, signer });
  while (await log.round());
  await wantCheckpoint(pool, true);
  while (await log.round());
  await store.close();
  const folder = freshCheckout(path.join(scratch, 'checkout'));
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '-e', '-o', 'pipefail', '-c', sessionOf('auditor', 'docs/audit.md')],
    {
      ...{ cwd: folder, encoding: 'utf8', timeout: sessionTimeoutMs },
      env: {
        ...{ PATH: process.env['PATH'], ...environment },
        ...{ PAYMENT: ids.payment, VERIFIER_KEY: signer.verifierKey },
      },
    },
  );
  expect({ status, stderr: withoutProgress(stderr) }).toEqual({ status: 0, stderr: '' });
  for (const told of [
    '2 checkpoints compared\n',
    '\neverything holds\n',
    'status: QUEUED → COMPLETED',
  ])
    expect(stdout).toContain(told);
  const pdf = readFileSync(path.join(folder, 'evidence.pdf'));
  const attached = (await attachmentsOf(pdf)).get('proofs.json');
  expect(attached?.toString()).toBe(readFileSync(path.join(folder, 'proofs.json'), 'utf8'));
});
