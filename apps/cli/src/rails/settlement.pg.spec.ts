/** What staff may settle of a payment that may still be on its way to its bank, and to which connection. */
import { randomUUID } from 'node:crypto';
import { railReferenceOf } from '@pis/bank-rails';
import { individualIdOf } from '@pis/bank-rails/ach';
import { pauseConnections, readPauses } from '@pis/bank-rails/connections';
import { TransferStream } from '@pis/commands';
import { payment, type PaymentCommand, type PaymentRail } from '@pis/domain';
import { paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { CommandFailed } from '../output.js';
import { paymentNamed, type Settlement, settlePayment } from './settlement.js';

const inFlightMaxMs = 3_600_000;
const terms = { submissionInFlightMaxMs: inFlightMaxMs, referenceMemoryMs: 90 * 24 * 3_600_000 };
const by = systemContext('test');
const keyring = testKeyring();
const store = sealedStore(memoryEventStore(), keyring);
const minuteMs = 60_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
beforeEach(() => pool.query('TRUNCATE rail_connections, rail_pending, ach_entries, ach_banks'));
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const isoAgo = (agoMs: number) => new Date(Date.now() - agoMs).toISOString();

interface Given {
  readonly rail?: PaymentRail;
  readonly status?: 'QUEUED' | 'PROCESSING' | 'FAILED_IN_FLIGHT';
  /** Since the claim, and since it failed in flight. */
  readonly claimedAgoMs?: number;
  /** Null: without a row. */
  readonly sentAgoMs?: number | null;
  readonly pausedAgoMs?: number;
}

async function given({
  rail = 'RTP',
  status = 'PROCESSING',
  claimedAgoMs = 10 * inFlightMaxMs,
  sentAgoMs = null,
  pausedAgoMs,
}: Given): Promise<string> {
  const paymentId = randomUUID();
  const reference = railReferenceOf(paymentId);
  const at = isoAgo(claimedAgoMs);
  const data = paymentExample({ paymentId, paymentRail: rail });
  const claim = { railReference: reference, connection: 'bank' };
  const commands: PaymentCommand[] = [{ type: 'ProcessPayment', at, data: claim }];
  if (status === 'FAILED_IN_FLIGHT')
    commands.push({ type: 'FailPaymentInFlight', at, data: { failureReason: 'late' } });
  await repository(store, payment).create(paymentId, { type: 'QueuePayment', at, data }, by);
  if (status !== 'QUEUED')
    await new TransferStream(store, 'system:test').apply(paymentId, {}, () => commands);
  if (sentAgoMs !== null)
    await pool.query(
      `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, last_submission_at,
         submissions, deadline_at, connection) VALUES ($1, $2, $3, 'claimed', $4, $4, 1, $4, 'bank')`,
      [paymentId, reference, rail, isoAgo(sentAgoMs)],
    );
  await readPauses(pool, ['bank']);
  if (pausedAgoMs !== undefined) {
    await pauseConnections(pool, { connection: 'bank', reason: 'a test', isRestored: false });
    await pool.query('UPDATE rail_connections SET paused_at = $1', [isoAgo(pausedAgoMs)]);
  }
  return paymentId;
}

function settle(
  paymentId: string,
  as: Settlement,
  { knowsTerms = true, connection }: { knowsTerms?: boolean; connection?: string } = {},
) {
  const termsOf = () => Promise.resolve(knowsTerms ? terms : null);
  const order = { paymentId, as, ...(connection !== undefined && { connection }) };
  const stores = { store, pool, by, termsOf, keyring: () => Promise.resolve(keyring) };
  return settlePayment(stores, order);
}

const statusOf = async (paymentId: string) =>
  (await repository(store, payment).load(paymentId)).state?.status;

const onItsWay = /the payment may still reach the bank until \S+Z: ask the bank after that time/;

const over = 2 * inFlightMaxMs + minuteMs;

describe('a payment that may still be on its way', () => {
  const notOver = 2 * inFlightMaxMs - minuteMs;

  it.each<[string, Given]>([
    ['a submission has just left', { sentAgoMs: notOver, pausedAgoMs: over }],
    ['the pause is too young', { sentAgoMs: over, pausedAgoMs: notOver }],
    ['it is in flight', { status: 'FAILED_IN_FLIGHT', sentAgoMs: notOver }],
    ['its row is lost, and it was claimed just now', { claimedAgoMs: notOver, pausedAgoMs: over }],
    ['it is an ACH entry without a row', { rail: 'ACH', sentAgoMs: over, pausedAgoMs: notOver }],
  ])('is not settled as never sent while %s', async (_why, facts) => {
    const paymentId = await given(facts);
    const before = await statusOf(paymentId);
    const refusal = settle(paymentId, 'never-sent');
    await expect(refusal).rejects.toThrow(CommandFailed);
    await expect(refusal).rejects.toThrow(onItsWay);
    expect(await statusOf(paymentId)).toBe(before);
    expect((await pool.query('SELECT FROM iso_transfers')).rowCount).toBe(0);
  });

  it('is named with the time after which the bank can be asked', async () => {
    const sentAt = Date.now() - minuteMs;
    const paymentId = await given({ sentAgoMs: minuteMs, pausedAgoMs: over });
    const { message } = await settle(paymentId, 'never-sent').then(
      () => new Error('settled'),
      (error: unknown) => error as Error,
    );
    const until = Date.parse(/until (\S+Z)/.exec(message)?.[1] ?? '');
    expect(Math.abs(until - sentAt - 2 * inFlightMaxMs)).toBeLessThan(minuteMs);
  });

  it.each<[string, Given, string]>([
    ['PROCESSING', { sentAgoMs: over, pausedAgoMs: over }, 'FAILED'],
    ['FAILED_IN_FLIGHT', { status: 'FAILED_IN_FLIGHT', sentAgoMs: over }, 'FAILED_IN_FLIGHT'],
    ['PROCESSING, without a row', { pausedAgoMs: over }, 'FAILED'],
  ])('is settled as never sent afterwards: %s', async (_what, facts, status) => {
    const paymentId = await given(facts);
    expect(await settle(paymentId, 'never-sent')).toMatchObject({ status });
    await pool.query('DELETE FROM iso_transfers');
  });

  it('waits for twenty minutes when the terms of the connection are not known', async () => {
    const [young, old] = [19 * minuteMs, 21 * minuteMs];
    const unknown = { knowsTerms: false };
    const sent = await given({ sentAgoMs: young, pausedAgoMs: old });
    await expect(settle(sent, 'never-sent', unknown)).rejects.toThrow(onItsWay);
    const arrived = await given({ sentAgoMs: old, pausedAgoMs: old });
    expect(await settle(arrived, 'never-sent', unknown)).toMatchObject({ status: 'FAILED' });
    await pool.query('DELETE FROM iso_transfers');
  });

  it('is settled as executed at once', async () => {
    const paymentId = await given({ sentAgoMs: 0, pausedAgoMs: 0 });
    expect(await settle(paymentId, 'executed')).toMatchObject({ status: 'COMPLETED' });
    await pool.query('DELETE FROM iso_transfers');
  });

  it('is none while it is an ACH entry in no file, unless the database was restored', async () => {
    const facts = { rail: 'ACH', sentAgoMs: 0, pausedAgoMs: minuteMs } as const;
    const wait = async (paymentId: string) =>
      pool.query(
        `INSERT INTO ach_entries (reference, bank, status, payment_id, organization_id, originator_id,
           contact_id, direction, amount_minor, individual_id, submitted_at)
         VALUES ($1, 'bank', 'waiting', $2, $3, $3, $3, 'OUTBOUND', 1, $4, now())`,
        [railReferenceOf(paymentId), paymentId, randomUUID(), paymentId.slice(0, 15)],
      );
    const restored = await given(facts);
    await wait(restored);
    await pool.query('UPDATE rail_connections SET is_restored = true');
    await expect(settle(restored, 'never-sent')).rejects.toThrow(onItsWay);
    await pool.query('UPDATE rail_connections SET is_restored = false');
    expect(await settle(restored, 'never-sent')).toMatchObject({ status: 'FAILED' });
  });
});

/** What the connection has under its reference. */
const sentAs: Record<
  'RTP' | 'ACH',
  (paymentId: string, amountMinor: number | null, state?: string) => unknown
> = {
  RTP: (paymentId, amountMinor, state = 'received') =>
    pool.query(
      `INSERT INTO iso_transfers (connection, reference, state, details, uetr)
       VALUES ('bank', $1, $4, $2, $3)`,
      [
        railReferenceOf(paymentId),
        amountMinor === null ? null : { amountMinor },
        ...[randomUUID(), state],
      ],
    ),
  ACH: (paymentId, amountMinor, status = 'filed') =>
    pool.query(
      `INSERT INTO ach_entries (reference, bank, status, payment_id, amount_minor, submitted_at)
       VALUES ($1, 'bank', $4, $2, $3, now())`,
      [railReferenceOf(paymentId), paymentId, amountMinor, status],
    ),
};

describe('a payment that is settled as executed', () => {
  it.each(['RTP', 'ACH'] as const)(
    'is refused over %s when another amount was sent under its reference, and nothing is written',
    async (rail) => {
      const paymentId = await given({ rail, status: 'FAILED_IN_FLIGHT' });
      await sentAs[rail](paymentId, 4_711);
      const refusal = settle(paymentId, 'executed');
      await expect(refusal).rejects.toThrow(CommandFailed);
      await expect(refusal).rejects.toThrow(
        'the bank was sent 4711 under this reference, and the payment has 125000 (minor units)',
      );
      expect(await statusOf(paymentId)).toBe('FAILED_IN_FLIGHT');
      expect(await rowStates()).toEqual([rail === 'ACH' ? 'filed' : 'received']);
      await pool.query('DELETE FROM iso_transfers');
    },
  );

  it.each([
    ['RTP', 125_000],
    ['RTP', null],
    ['ACH', 125_000],
    ['ACH', null],
  ] as const)('is COMPLETED over %s when %s was sent', async (rail, amountMinor) => {
    const paymentId = await given({ rail, status: 'FAILED_IN_FLIGHT' });
    await sentAs[rail](paymentId, amountMinor);
    expect(await settle(paymentId, 'executed')).toMatchObject({ status: 'COMPLETED' });
    await pool.query('DELETE FROM iso_transfers');
  });
});

describe('a payment whose reference the bank has with another amount', () => {
  it.each([
    ['RTP', 'FAILED_IN_FLIGHT', 'FAILED_IN_FLIGHT'],
    ['ACH', 'FAILED_IN_FLIGHT', 'FAILED_IN_FLIGHT'],
    ['ACH', 'PROCESSING', 'FAILED'],
  ] as const)(
    'is settled as never sent over %s when it is %s, and the record of the earlier one stays',
    async (rail, status, settled) => {
      const paymentId = await given({ rail, status, sentAgoMs: over, pausedAgoMs: over });
      await sentAs[rail](paymentId, 4_711, 'accepted');
      expect(await settle(paymentId, 'never-sent')).toMatchObject({ status: settled });
      expect(await rowStates()).toEqual(['accepted']);
      const { state } = await repository(store, payment).load(paymentId);
      expect(JSON.stringify(state)).toContain('An earlier one under its reference was');
      expect(JSON.stringify(state)).not.toContain('No funds were moved');
      await pool.query('DELETE FROM iso_transfers');
    },
  );

  it('is not settled as never sent when the amounts are the same', async () => {
    const paymentId = await given({ rail: 'ACH', status: 'FAILED_IN_FLIGHT', sentAgoMs: over });
    await sentAs.ACH(paymentId, 125_000, 'accepted');
    await expect(settle(paymentId, 'never-sent')).rejects.toThrow(
      "the bank has answered for this payment: its row is 'accepted'",
    );
    expect(await statusOf(paymentId)).toBe('FAILED_IN_FLIGHT');
  });
});

async function rowStates(): Promise<string[]> {
  const { rows } = await pool.query<{ status: string }>(
    'SELECT status FROM ach_entries UNION ALL SELECT state FROM iso_transfers',
  );
  return rows.map(({ status }) => status);
}

describe('a repeat that its log has with another rail than the connection that has the first one', () => {
  it.each([
    ['RTP', 'ACH'],
    ['ACH', 'RTP'],
  ] as const)(
    'with the rail %s, sent over %s with another amount, is not settled as executed, and the client is told',
    async (rail, sentOver) => {
      const paymentId = await given({ rail, status: 'FAILED_IN_FLIGHT', sentAgoMs: over });
      await sentAs[sentOver](paymentId, 4_711, 'accepted');
      await expect(settle(paymentId, 'executed')).rejects.toThrow('the bank was sent 4711');
      await settle(paymentId, 'never-sent');
      const { state } = await repository(store, payment).load(paymentId);
      expect(JSON.stringify(state)).toContain('An earlier one under its reference was');
      expect(await rowStates()).toEqual(['accepted']);
      await pool.query('DELETE FROM iso_transfers');
    },
  );

  it.each([
    ['RTP', 'ACH'],
    ['ACH', 'RTP'],
  ] as const)(
    'with the rail %s, executed over %s, is not settled as never sent',
    async (rail, sentOver) => {
      const paymentId = await given({ rail, status: 'FAILED_IN_FLIGHT', sentAgoMs: over });
      await sentAs[sentOver](paymentId, 125_000, 'accepted');
      await expect(settle(paymentId, 'never-sent')).rejects.toThrow(
        "the bank has answered for this payment: its row is 'accepted'",
      );
      expect(await rowStates()).toEqual(['accepted']);
      await pool.query('DELETE FROM iso_transfers');
    },
  );

  it('is not settled as never sent while its ACH file is to be sent', async () => {
    const paymentId = await given({ rail: 'RTP', status: 'FAILED_IN_FLIGHT', sentAgoMs: over });
    await sentAs.ACH(paymentId, 125_000, 'filed');
    await pool.query(
      `WITH file AS (
         INSERT INTO ach_files (bank, name, archive_id, sha256, entries, created_at, upload_due_at, settles_on)
         VALUES ('bank', 'file', 'none', '', 1, now(), now(), now()) RETURNING id)
       UPDATE ach_entries SET file_id = (SELECT id FROM file)`,
    );
    await expect(settle(paymentId, 'never-sent')).rejects.toThrow('its file is not sent yet');
    expect(await statusOf(paymentId)).toBe('FAILED_IN_FLIGHT');
    await pool.query('DELETE FROM ach_files');
  });
});

describe('the connection of a payment that names none', () => {
  it('must be given, and nothing is written without it', async () => {
    const paymentId = await given({ status: 'QUEUED', pausedAgoMs: 0 });
    const refusal = settle(paymentId, 'executed');
    await expect(refusal).rejects.toThrow(CommandFailed);
    await expect(refusal).rejects.toThrow('the payment names no connection: give --connection');
    expect(await statusOf(paymentId)).toBe('QUEUED');
    expect((await pool.query('SELECT FROM iso_transfers')).rowCount).toBe(0);
  });

  it('is one that was used before, and the refusal lists those', async () => {
    const paymentId = await given({ status: 'QUEUED', pausedAgoMs: 0 });
    await readPauses(pool, ['other']);
    await expect(settle(paymentId, 'executed', { connection: 'bnak' })).rejects.toThrow(
      'no connection has the name "bnak"; known: bank, other',
    );
    const { rows } = await pool.query('SELECT connection FROM rail_connections ORDER BY 1');
    expect(rows).toEqual([{ connection: 'bank' }, { connection: 'other' }]);
    expect(await settle(paymentId, 'executed', { connection: 'bank' })).toMatchObject({
      connection: 'bank',
      status: 'COMPLETED',
    });
    await pool.query('DELETE FROM iso_transfers');
  });

  it('takes ACH when the payment is one', async () => {
    const paymentId = await given({ rail: 'ACH', status: 'QUEUED', pausedAgoMs: 0 });
    await expect(settle(paymentId, 'executed', { connection: 'bank' })).rejects.toThrow(
      'no connection for ACH has the name "bank"; known: none',
    );
    await pool.query("INSERT INTO ach_banks (bank) VALUES ('bank')");
    expect(await settle(paymentId, 'executed', { connection: 'bank' })).toMatchObject({
      status: 'COMPLETED',
    });
  });
});

it('what the bank has said of a settled payment is tried again, however long it has waited', async () => {
  const paymentId = await given({ status: 'QUEUED', pausedAgoMs: minuteMs });
  const reference = railReferenceOf(paymentId);
  await pool.query(
    `INSERT INTO rail_notified_references (feed, reference, since, tries, due_at)
     VALUES ('bank', $1, now() - interval '4 days', 80, 'infinity')`,
    [reference],
  );
  await settle(paymentId, 'executed', { connection: 'bank' });
  const { rows } = await pool.query(
    'SELECT due_at <= now() AS is_due FROM rail_notified_references WHERE reference = $1',
    [reference],
  );
  expect(rows).toEqual([{ is_due: true }]);
});

it('a payment under way whose ACH entry is lost is found by its individual ID', async () => {
  const [ach, instant] = [
    await given({ rail: 'ACH', sentAgoMs: 0 }),
    await given({ sentAgoMs: 0 }),
  ];
  expect(await paymentNamed(pool, individualIdOf(railReferenceOf(ach)), null)).toBe(ach);
  const other = paymentNamed(pool, individualIdOf(railReferenceOf(instant)), null);
  await expect(other).rejects.toThrow(CommandFailed);
});
