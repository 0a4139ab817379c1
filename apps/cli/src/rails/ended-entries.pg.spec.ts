/** The database was restored: ACH entries wait again whose payments have ended since. */
import { achBank, atOnceSchedule, individualIdOf } from '@pis/bank-rails/ach';
import {
  fileArchive,
  type FileTransport,
  pauseConnections,
  resumeConnection,
} from '@pis/bank-rails/connections';
import { instructionEnding, testAchIdentity } from '@pis/bank-rails/testing';
import { TransferStream } from '@pis/commands';
import { payment, type PaymentCommand } from '@pis/domain';
import { paymentExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, repository, sealedStore } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { voidEntriesOfEndedPayments } from './ended-entries.js';

const connection = 'files';
const at = '2026-11-20T15:00:00.000Z';
const reason = 'the database was restored';
const by = {
  ...{ actor: 'system:test', requestId: null, correlationId: 'a', causationId: null },
  traceparent: null,
};

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: pg.Pool;
let store: EventStore;
let bank: ReturnType<typeof achBank>;
/** What the bank got. */
let uploaded: string;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  uploaded = '';
  const transport: FileTransport = {
    put: (_name, bytes) => {
      uploaded += Buffer.from(bytes).toString('latin1');
      return Promise.resolve();
    },
    list: () => Promise.resolve([]),
    get: () => Promise.reject(new Error('there is no file')),
    remove: () => Promise.resolve(true),
    onFile: () => () => undefined,
    close: () => Promise.resolve(),
  };
  const keyring = testKeyring();
  store = sealedStore(memoryEventStore(), keyring);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  bank = achBank({
    ...{ name: connection, pool, keyring, transport, log, schedule: atOnceSchedule() },
    archive: fileArchive({ pool, keyring }),
    terms: { submissionInFlightMaxMs: 60_000, referenceMemoryMs: 90 * 24 * 3_600_000 },
    identity: testAchIdentity,
  });
});
afterEach(async () => {
  await bank.close();
  await store.close();
  await pool.end();
  await database.drop();
});

const claim = (railReference: string): PaymentCommand => ({
  ...{ type: 'ProcessPayment', at, data: { railReference, connection } },
});
const failure = { failureCode: 'INTERNAL_ERROR', failureMessage: 'a', failureReason: 'b' } as const;
const late = { failureCode: 'INTERNAL_ERROR', field: null, message: 'a', reason: 'b' } as const;
const ends: Readonly<Record<string, readonly PaymentCommand[]>> = {
  underWay: [],
  failed: [{ type: 'FailPayment', at, data: failure }],
  completed: [{ type: 'CompletePayment', at, data: {} }],
  rejectedLate: [
    { type: 'FailPaymentInFlight', at, data: { failureReason: 'a' } },
    { type: 'RejectPaymentLate', at, data: { ...late, railCode: null } },
  ],
};

/** An entry that waits, of a payment that the log knows. @returns what its file would call it */
async function waiting(commands: readonly PaymentCommand[]): Promise<string> {
  const instruction = instructionEnding('4321');
  const { paymentId, reference } = instruction;
  const details = paymentExample({ paymentId });
  const queue = { type: 'QueuePayment', at, data: details } as const;
  await repository(store, payment).create(paymentId, queue, by);
  const payments = new TransferStream(store, by.actor);
  await payments.apply(paymentId, {}, () => [claim(reference), ...commands]);
  await bank.submit(instruction);
  return individualIdOf(reference);
}

const pause = () => pauseConnections(pool, { connection, isRestored: true, reason });

it('entries of ended payments are in no file after the connection was resumed', async () => {
  const ids: Record<string, string> = {};
  for (const [name, commands] of Object.entries(ends)) ids[name] = await waiting(commands);
  await bank.submit(instructionEnding('4321'));
  await pause();
  expect(await voidEntriesOfEndedPayments({ pool, store }, connection)).toBe(4);
  expect(await voidEntriesOfEndedPayments({ pool, store }, connection)).toBe(0);
  expect(await resumeConnection(pool, connection)).toBe(true);
  await bank.rounds.outbound();
  const sent = Object.keys(ids).filter((name) => uploaded.includes(ids[name] ?? ''));
  expect(sent).toEqual(['underWay']);
  const { rows } = await pool.query(
    'SELECT status, count(*)::int AS n FROM ach_entries GROUP BY status ORDER BY status',
  );
  expect(rows).toEqual([
    { status: 'filed', n: 1 },
    { status: 'voided', n: 4 },
  ]);
});

it('a payment that cannot be read is named, and the others are looked at', async () => {
  await waiting(ends['underWay'] ?? []);
  const unreadable = instructionEnding('4321');
  await bank.submit(unreadable);
  await waiting(ends['failed'] ?? []);
  await pause();
  const broken: EventStore = {
    ...store,
    readStream: (streamId, options) =>
      streamId.includes(unreadable.paymentId)
        ? Promise.reject(new Error('corrupt'))
        : store.readStream(streamId, options),
  };
  await expect(voidEntriesOfEndedPayments({ pool, store: broken }, connection)).rejects.toThrow(
    new RegExp(`the connection stays paused: .*${unreadable.paymentId}$`),
  );
  const { rows } = await pool.query(
    'SELECT status, count(*)::int AS n FROM ach_entries GROUP BY status ORDER BY status',
  );
  expect(rows).toEqual([
    { status: 'voided', n: 1 },
    { status: 'waiting', n: 2 },
  ]);
});
