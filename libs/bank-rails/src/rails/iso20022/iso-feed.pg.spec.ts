/** The feed over messages that say nothing, that are wrong, or that are about another message of ours. */
import { randomUUID } from 'node:crypto';
import { type Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { type BankConnection, simulatedBankTerms } from '../../bank-connection.js';
import { fileArchive } from '../../connections/file-archive.js';
import { instructionEnding } from '../../testing.js';
import { isoBank, type IsoBankOptions } from './iso-bank.js';
import type { StatusReport } from './messages.js';
import { profileOf } from './profiles.js';
import { isoSender } from './testing/sample-messages.js';
import { SmallBank } from './testing/small-bank.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  keyring = await testKeyringOn(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

let bank: SmallBank;
let name: string;
let connection: BankConnection;
beforeEach(() => {
  name = randomUUID();
  bank = new SmallBank(profileOf('FEDNOW'), isoSender);
  connection = connect();
});

function connect(changes: Partial<IsoBankOptions> = {}): BankConnection {
  return isoBank({
    name,
    rails: ['FEDNOW'],
    identity: isoSender,
    isTest: true,
    pool,
    transport: bank,
    archive: fileArchive({ pool, keyring }),
    terms: simulatedBankTerms,
    ...changes,
  });
}

const payment = (ending: string) => ({ ...instructionEnding(ending), rail: 'FEDNOW' as const });

/** The bank's report about the transfer, in its inbox. */
function deliver(reference: string, changes: Partial<StatusReport> = {}): void {
  const report: StatusReport = {
    type: 'pacs.002',
    messageId: randomUUID().replaceAll('-', ''),
    createdAt: '2026-11-23T10:00:00Z',
    original: {
      ...{ messageId: null, messageName: 'pacs.008.001.08', createdAt: null },
      ...{ instructionId: null, transactionId: null, uetr: null },
      endToEndId: reference,
    },
    status: 'RCVD',
    reason: null,
    acceptedAt: null,
    instructingAgent: { routingNumber: '011401533', bic: null },
    instructedAgent: { routingNumber: '021000021', bic: null },
    ...changes,
  };
  bank.deliver(bank.write(report));
}

it('moves on while pages say nothing, and reads what is behind them', async () => {
  const { reference } = payment('0401');
  const instruction = { ...payment('0401'), reference };
  await connection.submit(instruction);
  const silentPages = 25;
  for (let count = 0; count < silentPages; count += 1) deliver(reference);
  deliver(reference, { status: 'ACSC' });
  const first = await connection.notifications({ after: '', max: 1 });
  expect(first).toEqual({ notifications: [], cursor: '20' });
  expect(await connection.notifications({ after: first.cursor, max: 1 })).toMatchObject({
    notifications: [{ type: 'confirmed', reference }],
    cursor: '26',
  });
});

it('keeps the place of an inbox whose cursor moves over nothing', async () => {
  bank.inbox = () => Promise.resolve({ messages: [], cursor: 'moved' });
  expect(await connection.notifications({ after: '', max: 10 })).toEqual({
    notifications: [],
    cursor: 'moved',
  });
});

it.each(['2026-02-30T10:00:00', '0000-01-01T10:00:00Z', '9999-12-31T23:59:59-01:00'])(
  'goes on behind a message of %s',
  async (createdAt) => {
    const instruction = payment('0401');
    await connection.submit(instruction);
    deliver(instruction.reference, { status: 'ACSC', createdAt });
    deliver(instruction.reference, { status: 'ACSC' });
    const { notifications } = await connection.notifications({ after: '', max: 10 });
    expect(notifications.map(({ type }) => type)).toEqual(['unreadable', 'confirmed']);
  },
);

it('goes on behind a message that cannot be handled', async () => {
  const instruction = payment('0401');
  await connection.submit(instruction);
  deliver(instruction.reference, { messageId: 'BROKEN' });
  deliver(instruction.reference, { status: 'ACSC' });
  const archive = fileArchive({ pool, keyring });
  const reader = connect({
    archive: {
      ...archive,
      keep: (file, client) =>
        file.name === 'BROKEN'
          ? Promise.reject(new RangeError('not a date'))
          : archive.keep(file, client),
    },
  });
  const { notifications } = await reader.notifications({ after: '', max: 10 });
  expect(notifications).toMatchObject([
    { type: 'unreadable', reference: 'ISO message 1' },
    { type: 'confirmed', reference: instruction.reference },
  ]);
});
