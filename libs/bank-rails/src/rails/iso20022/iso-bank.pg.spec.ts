/** isoBank on a real database, with a small bank that reads and writes the same bytes. */
import { randomUUID } from 'node:crypto';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  BankRefused,
  BankUnavailable,
  simulatedBankTerms,
  type TransferInstruction,
} from '../../bank-connection.js';
import {
  pauseConnections,
  readPauses,
  resumeConnection,
} from '../../connections/connection-pauses.js';
import { fileArchive } from '../../connections/file-archive.js';
import { bankConnectionConformance, instructionEnding } from '../../testing.js';
import type { IsoBankOptions } from './iso-bank.js';
import { type IsoMessage, type IsoRail, isoRails } from './messages.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import { isoConnection } from './testing/iso-connection.js';
import { isoSender } from './testing/sample-messages.js';
import { SmallBank } from './testing/small-bank.js';

interface World {
  readonly name: string;
  readonly bank: SmallBank;
  /** As from another process: on the same database, with a memory of its own. */
  readonly connect: (changes?: Partial<IsoBankOptions>) => BankConnection;
}

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

/** A bank of its own for each test: rows and files belong to the name of a connection. */
function world(rail: IsoRail): World {
  const name = randomUUID();
  const bank = new SmallBank(profileOf(rail), isoSender);
  const connect = (changes: Partial<IsoBankOptions> = {}) =>
    isoConnection({ pool, keyring, bank, name, rail }, changes);
  return { name, bank, connect };
}

/** A payment of this rail. SWIFT needs a code of a bank abroad. */
function onRail(rail: IsoRail, instruction: TransferInstruction): TransferInstruction {
  const swiftCode = rail === 'SWIFT' ? 'BBBBFRPPXXX' : null;
  return {
    ...instruction,
    rail,
    contactAccount: { ...instruction.contactAccount, swiftCode },
  };
}

describe.each(isoRails)('isoBank on %s', (rail) => {
  bankConnectionConformance(`ISO 20022 messages of ${rail}`, () => {
    const connection = world(rail).connect();
    return Promise.resolve({
      connection: {
        ...connection,
        submit: (one) => connection.submit(onRail(rail, one)),
        isSame: async (one) => (await connection.isSame?.(onRail(rail, one))) ?? null,
      },
      close: () => Promise.resolve(),
    });
  });
});

describe('isoBank', () => {
  let given: World;
  let connection: BankConnection;
  beforeEach(() => {
    given = world('FEDNOW');
    connection = given.connect();
  });

  const payment = (ending: string, changes: Partial<TransferInstruction> = {}) =>
    onRail('FEDNOW', instructionEnding(ending, changes));
  const sent = (type: IsoMessage['type']) =>
    given.bank.received.filter((xml) => readIsoMessage(xml).message.type === type);
  const feed = async () => (await connection.notifications({ after: '', max: 100 })).notifications;

  it('sends the same bytes again after a crash, from another process and another day', async () => {
    const instruction = payment('4321');
    given.bank.answers = ['lost'];
    await expect(connection.submit(instruction)).rejects.toThrow();
    const [first] = sent('pacs.008');
    expect(await given.connect().submit(instruction)).toEqual({ outcome: 'accepted' });
    const [, second] = sent('pacs.008');
    expect(Buffer.from(second ?? []).equals(Buffer.from(first ?? []))).toBe(true);
    expect(given.bank.executed).toEqual([instruction.reference]);
  });

  it('sends nothing while the connection is paused, also when it noted the submission before', async () => {
    const [first, second, third] = [payment('4321'), payment('4321'), payment('4321')];
    given.bank.answers = ['lost'];
    await expect(connection.submit(first)).rejects.toThrow();
    await readPauses(pool, [given.name]);
    const pause = { connection: given.name, isRestored: true, reason: 'a failover' };
    expect(await pauseConnections(pool, pause)).toEqual([given.name]);
    await expect(connection.submit(first)).rejects.toBeInstanceOf(BankUnavailable);
    await expect(connection.submit(second)).rejects.toBeInstanceOf(BankUnavailable);
    expect(sent('pacs.008')).toHaveLength(1);
    expect(await connection.void(third.reference)).toMatchObject({ outcome: 'voided' });
    await resumeConnection(pool, given.name);
    for (const instruction of [first, second])
      expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(given.bank.executed).toEqual([first.reference, second.reference]);
  });

  it('sends nothing once it was paused for so long that others may have ruled the submission out', async () => {
    const { submissionInFlightMaxMs } = simulatedBankTerms;
    let pausedMs = 0;
    // The process is frozen between the note of the submission and its first byte.
    const archive = fileArchive({ pool, keyring });
    const { seal, bytes } = {
      seal: archive.seal.bind(archive),
      bytes: archive.bytes.bind(archive),
    };
    const frozen = async <Result>(work: Promise<Result>): Promise<Result> => {
      const result = await work;
      pausedMs += submissionInFlightMaxMs;
      return result;
    };
    archive.seal = (file) => frozen(seal(file));
    archive.bytes = (id) => frozen(bytes(id));
    const paused = given.connect({ archive, clock: () => new Date(Date.now() + pausedMs) });
    const instruction = payment('4321');
    await expect(paused.submit(instruction)).rejects.toBeInstanceOf(BankUnavailable);
    // The row is there now, and the bytes are read again.
    await expect(paused.submit(instruction)).rejects.toBeInstanceOf(BankUnavailable);
    expect(given.bank.received).toEqual([]);
    expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(given.bank.executed).toEqual([instruction.reference]);
  });

  it('does not send a settled transfer again', async () => {
    const instruction = payment('4321');
    await connection.submit(instruction);
    await given.connect().submit(instruction);
    expect(sent('pacs.008')).toHaveLength(1);
  });

  it('asks for the status when the bank calls it a duplicate, which proves nothing', async () => {
    const instruction = payment('4321');
    await connection.submit(instruction);
    // The database was restored from a backup: the row is gone, and the message gets another id.
    await pool.query('DELETE FROM iso_transfers WHERE connection = $1', [given.name]);
    const later = given.connect({ clock: () => new Date(Date.now() + 26 * 3_600_000) });
    expect(await later.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(given.bank.executed).toEqual([instruction.reference]);
    expect(sent('pacs.008')).toHaveLength(2);
    expect(sent('pacs.028')).toHaveLength(1);
  });

  it('does not believe that a repetition was rejected before it has asked for the status', async () => {
    const instruction = payment('4321');
    given.bank.answers = ['lost'];
    await connection.submit(instruction).catch(() => undefined);
    given.bank.repetitionsRejectedFor = 'DT01';
    expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(given.bank.executed).toEqual([instruction.reference]);
  });

  it('takes a rejection for what the table says, and sends nothing again', async () => {
    const instruction = payment('0204');
    const first = await connection.submit(instruction);
    expect(first).toMatchObject({
      outcome: 'error',
      rejection: { failureCode: 'INTERNAL_ERROR', railCode: 'MS03', field: null },
    });
    expect(await given.connect().submit(instruction)).toEqual(first);
    expect(sent('pacs.008')).toHaveLength(1);
  });

  it('rejects by itself what no message of the rail can say', async () => {
    const instruction = payment('4321', { contactName: '小林' });
    const result = await connection.submit(instruction);
    expect(result).toMatchObject({
      outcome: 'error',
      rejection: { failureCode: 'INVALID_CONTACT_DATA', field: 'lastName' },
    });
    expect(given.bank.received).toEqual([]);
  });

  it.each<[string, Partial<TransferInstruction>]>([
    ['another amount', { amountMinor: 99 }],
    ['another currency', { currencyCode: 'EUR' }],
  ])('refuses a reference that comes with %s', async (_, changes) => {
    const instruction = payment('4321');
    await connection.submit(instruction);
    await expect(connection.submit({ ...instruction, ...changes })).rejects.toBeInstanceOf(
      BankRefused,
    );
  });

  it('refuses another account under a reference that may have been sent', async () => {
    const instruction = payment('4321');
    given.bank.answers = ['lost'];
    await connection.submit(instruction).catch(() => undefined);
    const contactAccount = { ...instruction.contactAccount, achAccountNumber: '1111222233334444' };
    await expect(connection.submit({ ...instruction, contactAccount })).rejects.toBeInstanceOf(
      BankRefused,
    );
  });

  it('refuses what its rails do not carry', async () => {
    for (const changes of [{ rail: 'ACH' }, { rail: 'RTP' }, { direction: 'INBOUND' }] as const)
      await expect(connection.submit({ ...payment('4321'), ...changes })).rejects.toBeInstanceOf(
        BankRefused,
      );
  });

  it('takes a transfer as received while the bank answers through the inbox', async () => {
    const instruction = payment('4321');
    given.bank.answers = ['later'];
    expect(await connection.submit(instruction)).toEqual({
      outcome: 'pending',
      confirmationExpected: true,
    });
    expect(await feed()).toMatchObject([{ type: 'confirmed', reference: instruction.reference }]);
    expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
  });

  it('does not believe that a transfer never came which the bank has received or holds', async () => {
    for (const ending of ['0401', '0502']) {
      const instruction = payment(ending);
      expect(await connection.submit(instruction)).toMatchObject({ outcome: 'pending' });
      given.bank.findsNothing = true;
      expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'received' });
      given.bank.findsNothing = false;
    }
  });

  it('says which transfers it is writing down, and none that the bank has not answered', async () => {
    const instruction = payment('4321');
    const { reference } = instruction;
    const queued = async () => [...((await connection.queued?.([reference])) ?? [])];
    const send = given.bank.send.bind(given.bank);
    let whileSent: readonly string[] | null = null;
    given.bank.send = async (message) => {
      whileSent = await queued();
      return send(message);
    };
    const submitted = connection.submit(instruction);
    expect(await queued()).toEqual([reference]);
    await submitted;
    expect(whileSent).toEqual([]);
    expect(await queued()).toEqual([]);
  });

  it('waits for a cancellation that the bank answers later', async () => {
    const instruction = payment('4321');
    given.bank.answers = ['lost', 'later'];
    await connection.submit(instruction).catch(() => undefined);
    await expect(connection.void(instruction.reference)).rejects.toBeInstanceOf(BankAnswerUnclear);
    // The answer was RJCR: the bank had it.
    expect(await feed()).toEqual([]);
    expect(await connection.void(instruction.reference)).toEqual({ outcome: 'received' });
  });

  it('does not believe an answer about another transfer', async () => {
    const [one, two] = [payment('0401'), payment('0401')];
    await connection.submit(one);
    const swapped = given.bank.send.bind(given.bank);
    given.bank.send = async (message) => {
      const answer = new TextDecoder().decode((await swapped(message)) ?? undefined);
      return new TextEncoder().encode(answer.replaceAll(two.reference, one.reference));
    };
    await expect(connection.submit(two)).rejects.toBeInstanceOf(BankAnswerUnclear);
  });

  it.each([
    ['nothing', ''],
    ['HTML', '<html><body>502</body></html>'],
    ['an entity bomb', '<!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>'],
  ])('leaves the outcome open when the bank answers with %s', async (_, answer) => {
    const instruction = payment('4321');
    const send = given.bank.send.bind(given.bank);
    given.bank.send = async (message) => {
      await send(message);
      return new TextEncoder().encode(answer);
    };
    await expect(connection.submit(instruction)).rejects.toBeInstanceOf(BankUnavailable);
    given.bank.send = send;
    expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
    expect(given.bank.executed).toEqual([instruction.reference]);
  });

  it('keeps what it cannot read in the archive, and goes on with the next message', async () => {
    const instruction = payment('0101');
    given.bank.deliver(new TextEncoder().encode('<!DOCTYPE a><a/>'));
    await connection.submit(instruction);
    given.bank.deliver(new Uint8Array(300_000));
    const notifications = await feed();
    expect(notifications).toMatchObject([
      { type: 'unreadable', reference: 'ISO message 1' },
      { type: 'returned', reference: instruction.reference, returnReasonCode: 'R01' },
      { type: 'unreadable', reference: 'ISO message 3' },
    ]);
    expect(await feed()).toEqual(notifications);
    const { rows } = await pool.query<{ kind: string; count: number }>(
      `SELECT kind, count(*)::int FROM rail_files WHERE way = 'in' AND connection = $1
        GROUP BY kind ORDER BY kind`,
      [given.name],
    );
    expect(rows).toEqual([
      { kind: 'pacs.002', count: 1 },
      { kind: 'pacs.004', count: 1 },
      { kind: 'unreadable', count: 2 },
    ]);
  });

  it('reports a message whose ids belong to different transfers as unreadable', async () => {
    const [one, two] = [payment('0401'), payment('0401')];
    await connection.submit(one);
    await connection.submit(two);
    const { rows } = await pool.query<{ uetr: string }>(
      'SELECT uetr FROM iso_transfers WHERE reference = $1',
      [two.reference],
    );
    const report = {
      type: 'pacs.002' as const,
      messageId: 'MIXED',
      createdAt: '2026-11-23T10:00:00Z',
      original: {
        ...{ messageId: null, messageName: null, createdAt: null },
        ...{ instructionId: null, transactionId: null },
        endToEndId: one.reference,
        uetr: rows[0]?.uetr ?? '',
      },
      status: 'ACSC',
      reason: null,
      acceptedAt: null,
      instructingAgent: { routingNumber: '011401533', bic: null },
      instructedAgent: { routingNumber: '021000021', bic: null },
    };
    given.bank.deliver(given.bank.write(report));
    expect(await feed()).toMatchObject([{ type: 'unreadable', reference: 'ISO message MIXED' }]);
    expect(await connection.submit(one)).toMatchObject({ outcome: 'pending' });
  });

  it('keeps messages in both directions, and nothing of a party in its table', async () => {
    const instruction = payment('4321');
    await connection.submit(instruction);
    const archive = fileArchive({ pool, keyring });
    const files = await archive.list({ paymentId: instruction.paymentId, max: 10 });
    expect(files.map(({ way, kind }) => [way, kind])).toEqual([
      ['in', 'pacs.002'],
      ['out', 'pacs.008'],
    ]);
    const id = files[1]?.id ?? '';
    const [original] = sent('pacs.008');
    expect(Buffer.from(await archive.bytes(id)).equals(Buffer.from(original ?? []))).toBe(true);
    const { rows } = await pool.query<{ row: string }>(
      'SELECT t::text AS row FROM iso_transfers t',
    );
    for (const personal of ['Lovelace', '776655444321', 'Acme Corp', '987654321098'])
      expect(JSON.stringify(rows)).not.toContain(personal);
  });
});
