/**
 * What staff may settle of a payment whose reference the bank has for another account: the log was restored, and a client has
 * repeated a lost payment, under its key, for another contact.
 */
import { randomUUID } from 'node:crypto';
import { BankUnavailable, type NamedConnection, simulatedBankTerms } from '@pis/bank-rails';
import { achBank, atOnceSchedule } from '@pis/bank-rails/ach';
import {
  fileArchive,
  type FileTransport,
  type MessageTransport,
  pauseConnections,
  readPauses,
} from '@pis/bank-rails/connections';
import { isoBank } from '@pis/bank-rails/iso20022';
import { instructionEnding, isoSender, testAchIdentity } from '@pis/bank-rails/testing';
import { TransferStream } from '@pis/commands';
import { payment, type PaymentCommand, type PaymentRail } from '@pis/domain';
import { contactParty, paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { ownerOf, sealBankAccount } from '@pis/keyring';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { CommandFailed } from '../output.js';
import { type Settlement, settlePayment } from './settlement.js';

const by = systemContext('test');
const keyring = testKeyring();
const store = sealedStore(memoryEventStore(), keyring);
const longAgo = new Date(Date.now() - 10 * 3_600_000).toISOString();
const rails = ['ACH', 'RTP'] as const;
/** Of an account number. */
const [sentEnding, otherEnding] = ['4321', '4322'];

let database: TestDatabase;
let pool: pg.Pool;
let banks: Readonly<Record<(typeof rails)[number], NamedConnection['connection']>>;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  const archive = fileArchive({ pool, keyring });
  const shared = { pool, archive, terms: simulatedBankTerms };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  banks = {
    ACH: achBank({
      ...{ ...shared, name: 'files', keyring, transport: noFiles, schedule: atOnceSchedule(), log },
      identity: testAchIdentity,
    }),
    RTP: isoBank({
      ...{ ...shared, name: 'messages', transport: noAnswers, rails: ['RTP'] },
      ...{ identity: isoSender, isTest: true, keepNotification: () => Promise.resolve() },
    }),
  };
});
afterAll(async () => {
  for (const bank of Object.values(banks ?? {})) await bank.close();
  await pool?.end();
  await database?.drop();
});

const noFiles: FileTransport = {
  put: () => Promise.resolve(),
  list: () => Promise.resolve([]),
  get: () => Promise.reject(new Error('there is no file')),
  remove: () => Promise.resolve(true),
  onFile: () => () => undefined,
  close: () => Promise.resolve(),
};
const noAnswers: MessageTransport = {
  send: () => Promise.reject(new BankUnavailable('the answer is lost')),
  inbox: () => Promise.resolve({ messages: [], cursor: '' }),
  ping: () => Promise.resolve(),
  onMessage: () => () => undefined,
  close: () => Promise.resolve(),
};

interface Given {
  /** Of the payment as the log has it. */
  readonly ending: string;
  readonly status?: 'PROCESSING' | 'FAILED_IN_FLIGHT';
  readonly isErased?: boolean;
  /** Over which it was sent. */
  readonly sentOver: (typeof rails)[number];
  readonly rail?: PaymentRail;
}

/** A payment that was sent to the account with `sentEnding`. */
async function given({
  ending,
  status = 'FAILED_IN_FLIGHT',
  isErased = false,
  sentOver,
  rail = sentOver,
}: Given): Promise<string> {
  const sent = instructionEnding(sentEnding, { rail: sentOver });
  const { paymentId, reference, amountMinor } = sent;
  await banks[sentOver].submit(sent).catch((error: unknown) => {
    if (!(error instanceof BankUnavailable)) throw error;
  });
  const contactId = randomUUID();
  const owner = ownerOf.contact(contactId);
  const { contactAccount: account } = instructionEnding(ending);
  const bankAccount = await sealBankAccount(keyring, owner, account, 'A Bank');
  const contact = {
    ...contactParty,
    id: contactId,
    bankAccount,
    ...(isErased && { erased: true as const }),
  };
  const data = paymentExample({ paymentId, paymentRail: rail, amountMinor, contactId, contact });
  const at = longAgo;
  await repository(store, payment).create(paymentId, { type: 'QueuePayment', at, data }, by);
  const connection = sentOver === 'ACH' ? 'files' : 'messages';
  const claim = { railReference: reference, connection };
  const commands: PaymentCommand[] = [{ type: 'ProcessPayment', at, data: claim }];
  if (status === 'FAILED_IN_FLIGHT')
    commands.push({ type: 'FailPaymentInFlight', at, data: { failureReason: 'late' } });
  await new TransferStream(store, 'system:test').apply(paymentId, {}, () => commands);
  await readPauses(pool, [connection]);
  await pauseConnections(pool, { connection, reason: 'a test', isRestored: false });
  await pool.query('UPDATE rail_connections SET paused_at = $1', [longAgo]);
  return paymentId;
}

const settle = (paymentId: string, as: Settlement) =>
  settlePayment(
    {
      ...{ store, pool, by, keyring: () => Promise.resolve(keyring) },
      termsOf: () => Promise.resolve(simulatedBankTerms),
    },
    { paymentId, as },
  ).finally(() => pool.query('UPDATE rail_connections SET paused_at = NULL'));

const stateOf = async (paymentId: string) =>
  (await repository(store, payment).load(paymentId)).state;

describe.each(rails)('a payment whose reference the bank has over %s', (sentOver) => {
  it.each(rails)(
    'for another account is not settled as executed when its own rail is %s, and nothing is written',
    async (rail) => {
      const paymentId = await given({ ending: otherEnding, sentOver, rail });
      const before = await recordOf(paymentId);
      const refusal = settle(paymentId, 'executed');
      await expect(refusal).rejects.toThrow(CommandFailed);
      await expect(refusal).rejects.toThrow(
        "the bank was sent another account under this reference than the one of the payment's contact",
      );
      expect((await stateOf(paymentId))?.status).toBe('FAILED_IN_FLIGHT');
      expect(await recordOf(paymentId)).toEqual(before);
    },
  );

  it.each(['PROCESSING', 'FAILED_IN_FLIGHT'] as const)(
    'for another account is settled as never sent while %s, and the client is told what to find out',
    async (status) => {
      const paymentId = await given({ ending: otherEnding, status, sentOver });
      await executed(paymentId);
      const before = await recordOf(paymentId);
      await settle(paymentId, 'never-sent');
      const state = await stateOf(paymentId);
      expect(state?.status).toBe(status === 'PROCESSING' ? 'FAILED' : status);
      expect(JSON.stringify(state)).toContain(
        'The bank was sent another account for this payment: find out what was paid',
      );
      expect(JSON.stringify(state)).not.toContain('No funds were moved');
      expect(await recordOf(paymentId)).toEqual(before);
    },
  );

  it('for its account is settled as executed', async () => {
    const paymentId = await given({ ending: sentEnding, sentOver });
    expect(await settle(paymentId, 'executed')).toMatchObject({ status: 'COMPLETED' });
  });

  it('for its account, which the bank has executed, is not settled as never sent', async () => {
    const paymentId = await given({ ending: sentEnding, sentOver });
    await executed(paymentId);
    await expect(settle(paymentId, 'never-sent')).rejects.toThrow('the bank has answered');
  });

  it('is settled as executed when its contact was erased: nobody can compare', async () => {
    const paymentId = await given({ ending: otherEnding, isErased: true, sentOver });
    expect(await settle(paymentId, 'executed')).toMatchObject({ status: 'COMPLETED' });
  });
});

async function recordOf(paymentId: string): Promise<unknown> {
  const { reference } = instructionEnding('', { paymentId });
  const { rows } = await pool.query(
    `SELECT status FROM ach_entries WHERE reference = $1
      UNION ALL SELECT state FROM iso_transfers WHERE reference = $1`,
    [reference],
  );
  return rows;
}

async function executed(paymentId: string): Promise<void> {
  const { reference } = instructionEnding('', { paymentId });
  await pool.query("UPDATE ach_entries SET status = 'accepted' WHERE reference = $1", [reference]);
  await pool.query("UPDATE iso_transfers SET state = 'accepted' WHERE reference = $1", [reference]);
}
