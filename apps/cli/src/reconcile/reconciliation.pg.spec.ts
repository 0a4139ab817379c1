/** Reconciliation: what is found when the bank's file and our books differ, one of each kind. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { railReferenceOf } from '@pis/bank-rails';
import { individualIdOf } from '@pis/bank-rails/ach';
import {
  type AccountWithEntries,
  type BankEntry,
  writeBai2,
  writeCamt053,
} from '@pis/bank-statements';
import { streamOf, totalsOf } from '@pis/bank-statements/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import type { Contradiction, Finding } from './findings.js';
import { reconcile, type ReconcileOptions } from './reconciliation.js';

const organizationId = randomUUID();
const originatorId = randomUUID();
const day = '2026-11-20';
/** Noon in New York. */
const at = `${day}T17:00:00.000Z`;
const writers = { camt053: writeCamt053, bai2: writeBai2 } as const;
type Format = keyof typeof writers;
const manyCount = 20_000;
const manyLimitMs = 300_000;

let database: TestDatabase;
let pool: pg.Pool;
let folder: string;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-reconcile-'));
});
afterEach(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ours {
  readonly id: string;
  readonly trace: string | null;
  readonly entry: BankEntry;
}

let traces = 0;

interface Terms {
  readonly rail?: 'ACH' | 'RTP';
  readonly side?: 'credit' | 'debit';
  readonly owner?: 'payment' | 'collection';
  readonly completed?: boolean;
  readonly returned?: boolean;
  readonly cameBack?: number;
  readonly organization?: string;
}

/** A transfer of 12.34 as our tables have it, and as the bank would book it. */
async function transfer(terms: Terms = {}): Promise<Ours> {
  const { rail = 'RTP', side = 'debit', owner = 'payment', completed = true } = terms;
  const { returned = false, organization = organizationId, cameBack = null } = terms;
  const id = randomUUID();
  const reference = railReferenceOf(id);
  const trace = rail === 'ACH' ? String((traces += 1)).padStart(15, '0') : null;
  const place = String(traces).padStart(16, '0');
  await pool.query(
    `INSERT INTO transfers (transfer_id, organization_id, originator_id, owner, side, amount_minor, rail, reference,
       completed_at, completed_position, returned_at, returned_position, revision, returned_amount_minor)
     VALUES ($1, $2, $3, $4, $5, 1234, $6, $7, $8, $9, $10, $9, 1, $11)`,
    [
      ...[id, organization, originatorId, owner, side, rail, reference],
      ...[completed ? at : null, place, returned ? at : null, cameBack],
    ],
  );
  if (completed) await movement(id, owner, false);
  if (returned) await movement(id, owner, true);
  if (trace !== null)
    await pool.query(
      `INSERT INTO ach_entries (reference, bank, status, payment_id, amount_minor, individual_id, trace_number, submitted_at)
       VALUES ($1, 'b', $2, $3, 1234, $4, $5, $6)`,
      [reference, returned ? 'returned' : 'accepted', id, individualIdOf(reference), trace, at],
    );
  const entry: BankEntry = {
    bankReference: `B${id.slice(0, 20)}`,
    reference: trace === null ? reference : individualIdOf(reference),
    traceNumber: trace,
    side: owner === 'collection' ? 'credit' : side,
    amountMinor: 1_234,
    ...{ status: 'booked', bookedOn: day, rail, isReturn: false, returnReasonCode: null },
  };
  return { id, trace, entry };
}

async function movement(id: string, owner: string, isReturn: boolean): Promise<void> {
  const kind = owner === 'payment' ? 'transfer' : 'collection';
  const returned = owner === 'payment' ? 'return' : 'collection_return';
  await pool.query(
    `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, collection_id, kind, side,
       amount_minor, rail, reference, at, position)
     SELECT $2, organization_id, originator_id, CASE owner WHEN 'payment' THEN transfer_id END,
            CASE owner WHEN 'collection' THEN transfer_id END, $3, side, amount_minor, rail, reference, $4, '0'
       FROM transfers WHERE transfer_id = $1`,
    [id, randomUUID(), isReturn ? returned : kind, at],
  );
}

const returnOf = ({ entry }: Ours, code: string | null = 'R01'): BankEntry => ({
  ...entry,
  bankReference: `${entry.bankReference ?? ''}R`,
  side: entry.side === 'debit' ? 'credit' : 'debit',
  isReturn: true,
  returnReasonCode: code,
});

async function fileOf(format: Format, entries: readonly BankEntry[]): Promise<string> {
  const account: AccountWithEntries = {
    ...{
      accountId: '123',
      accountName: null,
      statementId: 'S1',
      from: day,
      to: day,
      openingMinor: 0n,
    },
    ...(await totalsOf(streamOf(entries))),
    entries: streamOf(entries),
  };
  const about = { fileId: 'F1', createdAt: new Date(at), sender: 'BANK', receiver: 'US' };
  const texts: string[] = [];
  for await (const text of writers[format](about, streamOf([account]))) texts.push(text);
  const file = path.join(folder, `${randomUUID()}.${format}`);
  writeFileSync(file, texts.join(''));
  return file;
}

async function found(
  files: readonly string[],
  options: Partial<ReconcileOptions> = {},
): Promise<{ findings: Finding[]; contradictions: Contradiction[] }> {
  const findings: Finding[] = [];
  const contradictions: Contradiction[] = [];
  await reconcile(
    pool,
    {
      ...{ files, organizationId: null, from: null, to: null, daysMax: 3 },
      ...{ timeZone: 'America/New_York', ...options },
    },
    {
      finding: (one) => Promise.resolve(void findings.push(one)),
      contradiction: (one) => Promise.resolve(void contradictions.push(one)),
    },
  );
  return { findings, contradictions };
}

const told = ({ findings }: { findings: readonly Finding[] }) =>
  findings
    .filter(({ kind }) => kind !== 'matched')
    .map(({ kind, movement, paymentId, collectionId, differs }) => ({
      ...{ kind, movement, id: paymentId ?? collectionId, differs },
    }));

describe.each(['camt053', 'bai2'] as const)('a file in %s', (format) => {
  it('of transfers, returns and collections agrees, and none is in the file of another day', async () => {
    const debit = await transfer({ rail: 'ACH', side: 'credit' });
    const returned = await transfer({ rail: 'ACH', returned: true });
    const instant = await transfer();
    const collection = await transfer({ rail: 'ACH', owner: 'collection' });
    const entries = [debit, returned, instant, collection].map(({ entry }) => entry);
    const outcome = await found([await fileOf(format, [...entries, returnOf(returned)])]);
    expect(told(outcome)).toEqual([]);
    expect(outcome.findings).toHaveLength(5);
    expect(outcome.contradictions).toEqual([]);
    expect(JSON.stringify(outcome)).not.toContain('123456789');
    const nothing = await found([await fileOf(format, entries.slice(0, 1))], {
      from: '2026-11-21',
      to: '2026-11-22',
    });
    expect(told(nothing)).toEqual([]);
  });

  it.each<readonly [string, (ours: Ours) => readonly BankEntry[], object]>([
    ['is missing at the bank', () => [], { kind: 'missingAtBank' }],
    [
      'has another amount',
      (o) => [{ ...o.entry, amountMinor: 1_235 }],
      { kind: 'differing', differs: ['amount'] },
    ],
    [
      'is on the other side',
      (o) => [{ ...o.entry, side: 'credit' }],
      { kind: 'differing', differs: ['side'] },
    ],
    [
      'is booked weeks later',
      (o) => [{ ...o.entry, bookedOn: '2026-12-20' }],
      { kind: 'differing', differs: ['date'] },
    ],
    ['is booked twice', (o) => [o.entry, o.entry], { kind: 'duplicates' }],
    [
      'came back unknown to us',
      (o) => [o.entry, returnOf(o)],
      { kind: 'differing', movement: 'return', differs: ['status'] },
    ],
  ])('finds a transfer that %s', async (_case, change, expected) => {
    for (const rail of ['ACH', 'RTP'] as const) {
      const good = await transfer({ rail });
      const wrong = await transfer({ rail });
      const outcome = await found([await fileOf(format, [good.entry, ...change(wrong)])]);
      const ofBoth = told(outcome).filter(({ id }) => [good.id, wrong.id].includes(id ?? ''));
      expect(ofBoth).toEqual([{ movement: 'transfer', differs: [], id: wrong.id, ...expected }]);
    }
  });

  it('finds a transfer that is not ours', async () => {
    const { entry } = await transfer();
    const foreign = { ...entry, reference: 'NOBODY', bankReference: 'FEE' };
    expect(told(await found([await fileOf(format, [entry, foreign])]))).toEqual([
      { kind: 'missingHere', movement: 'transfer', id: null, differs: [] },
    ]);
  });

  it('finds a return that the bank does not have, and one whose transfer the bank does not have', async () => {
    const first = await transfer({ returned: true });
    const second = await transfer({ rail: 'ACH', returned: true });
    const file = await fileOf(format, [first.entry, returnOf(second)]);
    expect(told(await found([file]))).toEqual(
      expect.arrayContaining([
        { kind: 'missingAtBank', movement: 'return', id: first.id, differs: [] },
        { kind: 'missingAtBank', movement: 'transfer', id: second.id, differs: [] },
      ]),
    );
  });

  it('compares a return with what came back, and the transfer with what was sent', async () => {
    const short = await transfer({ returned: true, cameBack: 1_200 });
    const lastWith = async (...back: BankEntry[]) =>
      (await found([await fileOf(format, [short.entry, ...back])])).findings.at(-1);
    const same = { ...returnOf(short), amountMinor: 1_200 };
    expect(await lastWith(same)).toMatchObject({ kind: 'matched', movement: 'return' });
    expect(await lastWith(returnOf(short))).toMatchObject({ differs: ['amount'] });
    expect(await lastWith()).toMatchObject({ kind: 'missingAtBank', ours: { amount: 1_200 } });
  });

  it('knows a return that the bank does not mark by its side', async () => {
    const returned = await transfer({ returned: true });
    const back = { ...returnOf(returned), isReturn: false, returnReasonCode: null };
    expect(told(await found([await fileOf(format, [returned.entry, back])]))).toEqual([]);
  });

  it('finds the wrong side of a transfer whose return is marked', async () => {
    const returned = await transfer({ returned: true });
    const flipped = { ...returned.entry, side: 'credit' as const };
    expect(told(await found([await fileOf(format, [flipped, returnOf(returned)])]))).toEqual([
      { kind: 'differing', movement: 'transfer', id: returned.id, differs: ['side'] },
    ]);
  });

  it('finds what the bank booked and we hold open or took for rejected', async () => {
    const open = await transfer({ completed: false });
    const rejected = await transfer({ rail: 'ACH' });
    await pool.query(`UPDATE ach_entries SET status = 'rejected' WHERE trace_number = $1`, [
      rejected.trace,
    ]);
    const file = await fileOf(format, [open.entry, rejected.entry]);
    expect(told(await found([file]))).toEqual([
      { kind: 'differing', movement: 'transfer', id: open.id, differs: ['status'] },
      { kind: 'differing', movement: 'transfer', id: rejected.id, differs: ['status'] },
    ]);
  });

  it('finds what the bank acknowledged and neither side booked', async () => {
    const other = await transfer();
    const acknowledged = await transfer({ rail: 'ACH', completed: false });
    expect(told(await found([await fileOf(format, [other.entry])]))).toEqual([
      { kind: 'missingAtBank', movement: 'transfer', id: acknowledged.id, differs: [] },
    ]);
  });
});

it('shows one organization only its own, and what is nobody’s', async () => {
  const ours = await transfer();
  const theirs = await transfer({ organization: randomUUID() });
  const missing = await transfer({ organization: randomUUID() });
  const foreign = { ...ours.entry, reference: 'NOBODY', bankReference: 'FEE' };
  const file = await fileOf('camt053', [ours.entry, theirs.entry, foreign]);
  const { findings } = await found([file], { organizationId });
  expect(findings.map(({ kind, paymentId }) => [kind, paymentId])).toEqual([
    ['matched', ours.id],
    ['missingHere', null],
  ]);
  expect(told(await found([file])).map(({ id }) => id)).toEqual([null, missing.id]);
});

it('says where a file contradicts itself, and matches on', async () => {
  const { entry, id } = await transfer();
  const file = await fileOf('camt053', [entry]);
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replaceAll('>12.34<', '>99.99<').replace('>99.99<', '>12.34<'),
  );
  const { findings, contradictions } = await found([file]);
  expect(contradictions.map(({ what }) => what)).not.toEqual([]);
  expect(findings).toMatchObject([{ kind: 'differing', paymentId: id, differs: ['amount'] }]);
});

it('an entry that is not booked is no difference while the transfer is open, and is one when it is not', async () => {
  const open = await transfer({ completed: false });
  const done = await transfer();
  const pending = [open, done].map(({ entry }) => ({ ...entry, status: 'pending' as const }));
  const { findings } = await found([await fileOf('camt053', pending)]);
  expect(findings.map(({ kind, paymentId, differs }) => [kind, paymentId, differs])).toEqual([
    ['pending', open.id, []],
    ['differing', done.id, ['status']],
  ]);
});

it('an entry that was not booked yet in the file of an earlier day is no difference', async () => {
  const { entry } = await transfer();
  const pending = { ...entry, status: 'pending' } as const;
  const earlier = [await fileOf('camt053', [pending]), await fileOf('camt053', [pending])];
  const { findings } = await found([...earlier, await fileOf('camt053', [entry])]);
  expect(findings.map(({ kind }) => kind)).toEqual(['matched', 'pending', 'pending']);
});

it('sees our books at one moment, also what completes while it reads them', async () => {
  const { entry } = await transfer();
  const open = await transfer({ completed: false });
  const kinds: string[] = [];
  const options = { organizationId: null, from: null, to: null, daysMax: 3 };
  await reconcile(
    pool,
    { ...options, files: [await fileOf('camt053', [entry])], timeZone: 'America/New_York' },
    {
      // Between the entries of the bank and what the bank does not have.
      async finding({ kind }) {
        kinds.push(kind);
        await pool.query('UPDATE transfers SET completed_at = $2 WHERE transfer_id = $1', [
          ...[open.id, at],
        ]);
        await movement(open.id, 'payment', false);
      },
      contradiction: () => Promise.reject(new Error('a contradiction')),
    },
  );
  expect(kinds).toEqual(['matched']);
  expect(told(await found([await fileOf('camt053', [entry])]))).toMatchObject([
    { kind: 'missingAtBank', id: open.id },
  ]);
});

it('takes the acknowledgements of instant rails and wires into account', async () => {
  const accepted = await transfer({ completed: false });
  const sent = await transfer({ completed: false });
  const rejected = await transfer();
  const moved = await transfer();
  for (const [{ id }, state, connection = 'b'] of [
    [accepted, 'accepted'],
    [sent, 'sending'],
    [rejected, 'rejected'],
    [moved, 'rejected'],
    [moved, 'accepted', 'c'],
  ] as const)
    await pool.query(
      `INSERT INTO iso_transfers (connection, reference, state, details, created_at)
         VALUES ($5, $1, $2, json_build_object('paymentId', $3::text), $4)`,
      [railReferenceOf(id), state, id, at, connection],
    );
  const { findings } = await found([await fileOf('camt053', [rejected.entry, moved.entry])]);
  expect(
    findings.map(({ kind, paymentId, ours }) => [kind, paymentId, ours?.acknowledgement]),
  ).toEqual([
    ['matched', moved.id, 'accepted'],
    ['differing', rejected.id, 'rejected'],
    ['missingAtBank', accepted.id, 'accepted'],
  ]);
});

it(
  'reads two files of many entries as one, in flat memory',
  async () => {
    const { entry } = await transfer();
    await pool.query(
      `WITH made AS (
         INSERT INTO transfers SELECT gen_random_uuid(), organization_id, originator_id, owner, side, n, rail, NULL,
           completed_at, completed_position, NULL, NULL, NULL, 1
           FROM transfers, generate_series(1, $1::int) n RETURNING *)
       INSERT INTO movements SELECT gen_random_uuid(), organization_id, originator_id, transfer_id, NULL, 'transfer',
         side, amount_minor, rail, reference, completed_at, '0' FROM made`,
      [manyCount],
    );
    const { rows } = await pool.query<{ id: string; amount: string }>(
      'SELECT transfer_id AS id, amount_minor AS amount FROM transfers ORDER BY amount_minor, transfer_id',
    );
    const entries = rows.map(({ id, amount }) => ({
      ...entry,
      reference: railReferenceOf(id),
      amountMinor: Number(amount),
    }));
    const half = manyCount / 2;
    const files = [
      await fileOf('camt053', entries.slice(0, half)),
      await fileOf('bai2', entries.slice(half)),
    ];
    let matched = 0;
    const outcome = await reconcile(
      pool,
      {
        ...{ files, organizationId: null, from: null, to: null, daysMax: 3 },
        timeZone: 'America/New_York',
      },
      {
        finding({ kind }) {
          if (kind !== 'matched') throw new Error(`found ${kind}`);
          matched += 1;
          return Promise.resolve();
        },
        contradiction: () => Promise.reject(new Error('a contradiction')),
      },
    );
    expect([matched, outcome.entries]).toEqual([manyCount + 1, manyCount + 1]);
  },
  manyLimitMs,
);
