/** What is in the files of exports, written to a real PostgreSQL. */
import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { readStatement } from '@pis/bank-statements';
import { exportKinds } from '@pis/contracts';
import { exportView } from './export-table.js';
import { exportLimits } from './export-worker.js';
import { type ExportScene, startExportScene } from './testing.js';

jest.setTimeout(240_000);

let scene: ExportScene;
beforeEach(async () => {
  scene = await startExportScene();
});
afterEach(() => scene.close());

const rows = 7_001;

it('has each payment once, newest first, and says how many and which bytes', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  await scene.listed(randomUUID(), 10);
  const written = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  expect(written).toMatchObject({ status: 'completed', rowCount: rows, parts: 4 });
  const text = await scene.textOf(written);
  const items = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { paymentId: string; createdAt: string });
  expect(new Set(items.map(({ paymentId }) => paymentId)).size).toBe(rows);
  const times = items.map(({ createdAt }) => createdAt);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(written.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  expect(exportView(written)).toMatchObject({
    rows,
    sizeBytes: Buffer.byteLength(text),
    progress: 1,
  });
  const { rows: sealed } = await scene.pool.query<{ sealed: Buffer }>(
    'SELECT sealed FROM document_chunks',
  );
  expect(Buffer.concat(sealed.map((chunk) => chunk.sealed)).includes('Byron')).toBe(false);
});

it('waits while a payment of the organization is held back, and holds up no other', async () => {
  const [organizationId, other] = [randomUUID(), randomUUID()];
  for (const one of [organizationId, other]) await scene.listed(one, 10);
  const asked = await scene.asked({ organizationId });
  let isHeld = true;
  const worker = scene.worker(
    {},
    { isHeld: (leased) => Promise.resolve(isHeld && leased.organizationId === organizationId) },
  );
  const written = await scene.finish(worker, await scene.asked({ organizationId: other }));
  expect(written).toMatchObject({ status: 'completed', rowCount: 10 });
  expect(await scene.now(asked)).toMatchObject({ status: 'queued', failures: 0 });
  isHeld = false;
  await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  expect(await scene.finish(worker, asked)).toMatchObject({ status: 'completed', rowCount: 10 });
});

it('writes others of an organization while as many as it may have at once are held back', async () => {
  const organizationId = randomUUID();
  for (let n = 0; n < exportLimits.perOrganizationMax; n += 1)
    await scene.asked({ organizationId });
  const asked = await scene.asked({ organizationId, kind: 'deliveries' });
  const worker = scene.worker({}, { isHeld: ({ kind }) => Promise.resolve(kind === 'payments') });
  expect(await scene.finish(worker, asked)).toMatchObject({ status: 'completed', rowCount: 0 });
});

it('reads a range without the rest', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const written = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, format: 'csv' }),
  );
  const text = await scene.textOf(written);
  const [first] = (
    await scene.pool.query<{ size: number }>(
      'SELECT size_bytes::int AS size FROM export_parts WHERE part = 0',
    )
  ).rows;
  const edge = first?.size ?? 0;
  for (const range of [
    { start: 0, end: 1 },
    { start: edge - 5, end: edge + 5 },
    { start: edge, end: edge },
    { start: written.sizeBytes - 3, end: written.sizeBytes },
  ])
    expect(await scene.textOf(written, range)).toBe(text.slice(range.start, range.end));
});

it('filters by originator and time, and has a header without rows', async () => {
  const [organizationId, originatorId] = [randomUUID(), randomUUID()];
  await scene.listed(organizationId, 10);
  await scene.listed(organizationId, 30, originatorId);
  const from = '2026-11-01T00:00:00.005Z';
  const written = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, originatorId, format: 'csv', from }),
  );
  const lines = (await scene.textOf(written)).split('\r\n');
  expect(lines[0]).toMatch(/^paymentId,status,createdAt,.*,paymentAmount,/);
  expect(lines[1]).toMatch(/,30,1,2,3,USD,ACH,OUTBOUND,'=1\+1,"a,""b""",/);
  expect(lines).toHaveLength(1 + 16 + 1);
  const none = await scene.finish(scene.worker(), await scene.asked({ format: 'csv' }));
  expect(await scene.textOf(none)).toBe(`${lines[0]}\r\n`);
  const fees = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, originatorId, kind: 'fees', format: 'csv' }),
  );
  expect((await scene.textOf(fees)).split('\r\n').slice(0, 2)).toEqual([
    'originatorId,paymentId,externalPaymentId,status,direction,paymentRail,createdAt,completedAt,returnedAt,paymentAmount,discountFee,flatFee,returnFee,currencyCode',
    expect.stringContaining(',30,1,2,3,USD'),
  ]);
});

it('has deliveries of all endpoints', async () => {
  const organizationId = randomUUID();
  await scene.pool.query(
    `INSERT INTO webhook_endpoints (endpoint_id, organization_id, created_at, revision, item)
      SELECT gen_random_uuid(), $1, now(), 0, '{}' FROM generate_series(1, 3)`,
    [organizationId],
  );
  await scene.pool.query(
    `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
        occurred_at, attempts, created_at, next_attempt_at, window_ends_at)
      SELECT gen_random_uuid(), $1, endpoint_id, gen_random_uuid(), 'payment.queued', NULL, now(), 0,
          now() - interval '1 hour', now(), now()
        FROM webhook_endpoints, generate_series(1, 2001) WHERE organization_id = $1`,
    [organizationId],
  );
  const written = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, kind: 'deliveries', format: 'csv' }),
  );
  expect(written).toMatchObject({ status: 'completed', rowCount: 6_003 });
  const [header = '', ...lines] = (await scene.textOf(written)).trimEnd().split('\r\n');
  expect(header).toBe(
    'deliveryId,webhookId,eventId,eventType,paymentId,occurredAt,state,replayed,attemptCount,createdAt,nextAttemptAt,finishedAt,finishedReason,lastStatusCode,lastError',
  );
  expect(new Set(lines.map((line) => line.split(',', 1)[0])).size).toBe(6_003);
  expect(exportKinds).toContain('deliveries');
});

it('has movements in every format, also when the process dies', async () => {
  const [organizationId, first, second] = [randomUUID(), randomUUID(), randomUUID()];
  for (const originatorId of [first, second])
    await scene.pool.query(
      `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, collection_id, kind, side,
          amount_minor, rail, reference, at, position)
        SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), NULL,
          CASE WHEN n % 5 = 0 THEN 'return' ELSE 'transfer' END,
          CASE WHEN n % 2 = 0 THEN 'credit' ELSE 'debit' END, n, 'ACH', 'ours/' || n,
          timestamptz '2026-11-01T00:00:00Z' + n * interval '1 second', lpad(n::text, 20, '0')
        FROM generate_series(1, 3000) AS n`,
      [organizationId, originatorId],
    );
  const common = { organizationId, kind: 'movements', throughPosition: '9' } as const;
  const csv = await scene.finish(scene.worker(), await scene.asked({ ...common, format: 'csv' }));
  const [header, line] = (await scene.textOf(csv)).split('\r\n');
  expect(header).toBe(
    'movementId,originatorId,paymentId,collectionId,kind,side,amount,currencyCode,paymentRail,reference,createdAt',
  );
  expect(line).toMatch(/,transfer,debit,1,USD,ACH,ours\/1,2026-11-01T00:00:01.000Z$/);
  expect(csv.rowCount).toBe(6_000);
  for (const [format, record] of [
    ['bai2', /^16,/gm],
    ['camt053', /<Ntry>/g],
  ] as const) {
    const broken = await scene.asked({ ...common, format });
    await scene.worker().round();
    await scene.pool.query(
      'UPDATE exports SET leased_until = now() - make_interval(secs => 1) WHERE leased_until IS NOT NULL',
    );
    const written = await scene.finish(scene.worker(), broken);
    expect(written).toMatchObject({ status: 'completed', rowCount: 6_000 });
    const text = await scene.textOf(written);
    expect(text.match(record)).toHaveLength(6_000);
    for (const originatorId of [first, second])
      expect(text).toContain(originatorId.replaceAll('-', ''));
    expect(written.sha256).toBe(createHash('sha256').update(text).digest('hex'));
    const none = await scene.finish(
      scene.worker(),
      await scene.asked({ kind: 'movements', format }),
    );
    expect(none).toMatchObject({ status: 'completed', rowCount: 0 });
  }
});

it.each(['bai2', 'camt053'] as const)(
  'says in %s why the bank returned a transfer',
  async (format) => {
    const organizationId = randomUUID();
    await scene.pool.query(
      `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, kind, side, amount_minor, rail,
        return_reason_code, at, position)
      SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), kind, 'debit', amount, rail, reason,
        timestamptz '2026-11-01T00:00:00Z' + amount * interval '1 second', '1'
      FROM (VALUES ('transfer', 1, 'ACH', NULL), ('return', 2, 'ACH', 'R01'), ('return', 3, 'FEDWIRE', 'AC04'),
        ('collection_return', 4, 'ACH', 'R10'), ('later_return', 5, 'SWIFT', NULL), ('return', 6, 'ACH', 'no funds'))
        AS moved (kind, amount, rail, reason)`,
      [organizationId, randomUUID()],
    );
    const asked = await scene.asked({
      ...{ organizationId, kind: 'movements', format },
      throughPosition: '9',
    });
    const written = await scene.finish(scene.worker(), asked);
    const entries = [];
    for await (const part of readStatement(bytesOf(await scene.textOf(written))))
      if (part.kind === 'entry') entries.push(part.entry);
    expect(entries.map(({ isReturn, returnReasonCode }) => [isReturn, returnReasonCode])).toEqual([
      [false, null],
      [true, 'R01'],
      [true, 'AC04'],
      [true, 'R10'],
      [true, null],
      // No code: the formats do not take it.
      [true, null],
    ]);
  },
);

describe('of a transfer over SWIFT that came back in two parts, with the reference of each movement,', () => {
  const originatorId = randomUUID();
  async function textIn(format: 'csv' | 'jsonl' | 'bai2' | 'camt053') {
    const organizationId = randomUUID();
    const paymentId = randomUUID();
    await scene.pool.query(
      `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, kind, side, amount_minor, rail,
          reference, at, position)
        SELECT gen_random_uuid(), $1, $2, $3, kind, side, amount, 'SWIFT', reference, at::timestamptz, '1'
        FROM (VALUES ('transfer', 'debit', 12345, 'OURS1', '2026-11-02T10:00Z'),
          ('return', 'credit', 12000, 'RTR1', '2026-11-09T10:00Z'),
          ('later_return', 'credit', 300, 'RTR2', '2026-11-10T10:00Z')) AS moved (kind, side, amount, reference, at)`,
      [organizationId, originatorId, paymentId],
    );
    const asked = { organizationId, kind: 'movements', throughPosition: '9' } as const;
    const written = await scene.finish(scene.worker(), await scene.asked({ ...asked, format }));
    expect(written).toMatchObject({ status: 'completed', rowCount: 3 });
    return { paymentId, text: await scene.textOf(written) };
  }

  it('CSV has the returns on the opposite side', async () => {
    const { paymentId, text } = await textIn('csv');
    const [, ...lines] = text.trimEnd().split('\r\n');
    const of = `${originatorId},${paymentId},`;
    expect(lines.map((line) => line.slice(line.indexOf(',') + 1))).toEqual([
      `${of},transfer,debit,12345,USD,SWIFT,OURS1,2026-11-02T10:00:00.000Z`,
      `${of},return,credit,12000,USD,SWIFT,RTR1,2026-11-09T10:00:00.000Z`,
      `${of},return,credit,300,USD,SWIFT,RTR2,2026-11-10T10:00:00.000Z`,
    ]);
  });

  it('JSON Lines has the returns on the opposite side', async () => {
    const { paymentId, text } = await textIn('jsonl');
    const lines = text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { paymentId, kind: 'transfer', side: 'debit', amount: 12_345, reference: 'OURS1' },
      { paymentId, kind: 'return', side: 'credit', amount: 12_000, reference: 'RTR1' },
      { paymentId, kind: 'return', side: 'credit', amount: 300, reference: 'RTR2' },
    ]);
  });

  it.each(['bai2', 'camt053'] as const)('%s has what came back as a credit', async (format) => {
    const { text } = await textIn(format);
    const entries = [];
    for await (const part of readStatement(bytesOf(text)))
      if (part.kind === 'entry') entries.push(part.entry);
    expect(entries).toMatchObject([
      {
        ...{ side: 'debit', amountMinor: 12_345, isReturn: false, reference: 'OURS1' },
        ...{ rail: 'SWIFT', bookedOn: '2026-11-02' },
      },
      {
        ...{ side: 'credit', amountMinor: 12_000, isReturn: true, reference: 'RTR1' },
        ...{ rail: 'SWIFT', bookedOn: '2026-11-09' },
      },
      {
        ...{ side: 'credit', amountMinor: 300, isReturn: true, reference: 'RTR2' },
        ...{ rail: 'SWIFT', bookedOn: '2026-11-10' },
      },
    ]);
  });

  it('BAI2 closes at what banks kept', async () => {
    const { text } = await textIn('bai2');
    const records = text.split('\n').filter((line) => /^(03|16|88),/.test(line));
    expect(records).toEqual([
      expect.stringMatching(/,010,0,,,015,-45,,,100,12300,2,,400,12345,1,\/$/),
      expect.stringMatching(/^16,495,12345,V,261102,,[0-9a-f]{32},OURS1\/$/),
      '88,SWIFT TRANSFER',
      expect.stringMatching(/^16,195,12000,V,261109,,[0-9a-f]{32},RTR1\/$/),
      '88,SWIFT RETURN',
      expect.stringMatching(/^16,195,300,V,261110,,[0-9a-f]{32},RTR2\/$/),
      '88,SWIFT RETURN',
    ]);
  });

  it('camt.053 closes at what banks kept', async () => {
    const { text } = await textIn('camt053');
    expect(text).toMatch(
      /<Cd>CLBD<\/Cd><\/CdOrPrtry><\/Tp><Amt Ccy="USD">0\.45<\/Amt><CdtDbtInd>DBIT</,
    );
    const [, , back = ''] = text.split('<Ntry>');
    expect(back).toMatch(/^<Amt Ccy="USD">120\.00<\/Amt><CdtDbtInd>CRDT<.*<RvslInd>true</);
    expect(back).toContain('<EndToEndId>RTR1</EndToEndId>');
  });
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}
