/** The feed over messages that say nothing or are wrong, and answers that prove less than they seem to. */
import { randomUUID } from 'node:crypto';
import { type Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  type BankNotification,
  type TransferInstruction,
} from '../../bank-connection.js';
import { fileArchive } from '../../connections/file-archive.js';
import { instructionEnding } from '../../testing.js';
import { uetrOf } from './identifiers.js';
import type { IsoBankOptions } from './iso-bank.js';
import { settleIsoTransfer } from './iso-by-hand.js';
import { IsoTransfers } from './iso-transfers.js';
import type { IsoMessage, IsoRail, PaymentReturn, StatusReport } from './messages.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import { isoConnection } from './testing/iso-connection.js';
import { isoSender, sampleMessages } from './testing/sample-messages.js';
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
  return isoConnection({ pool, keyring, bank, name, rail: 'FEDNOW' }, changes);
}

const payment = (ending: string) => ({ ...instructionEnding(ending), rail: 'FEDNOW' as const });

function returnOf(reference: string, rail: IsoRail): PaymentReturn {
  const sample = sampleMessages(rail).find((message) => message.type === 'pacs.004');
  if (sample?.type !== 'pacs.004') throw new Error('there is no sample of a return');
  const original = { ...sample.original, endToEndId: reference, uetr: uetrOf(reference) };
  return { ...sample, original };
}

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
  expect(first).toEqual({ notifications: [], cursor: '20', mayHaveMore: true });
  expect(await connection.notifications({ after: first.cursor, max: 1 })).toMatchObject({
    notifications: [{ type: 'confirmed', reference }],
    cursor: '26',
  });
});

it.each([
  ['of an accepted transfer shows staff the cancellation', 'ACSC', true, ['unreadable']],
  ['of an accepted transfer says nothing where it is refused', 'ACSC', false, []],
  ['of a transfer that is under way is kept for the next void', 'RCVD', true, []],
])('an answer to a cancellation %s', async (_what, status, isCanceled, types) => {
  const instruction = payment('0401');
  const { reference } = instruction;
  await connection.submit(instruction);
  deliver(reference, { status });
  const { cursor: after } = await connection.notifications({ after: '', max: 10 });
  const sample = sampleMessages('FEDNOW').find((message) => message.type === 'camt.029');
  if (sample?.type !== 'camt.029') throw new Error('there is no sample of an answer');
  const original = { ...sample.original, endToEndId: reference, uetr: uetrOf(reference) };
  bank.deliver(bank.write({ ...sample, original, status: isCanceled ? 'CNCL' : 'RJCR' }));
  const { notifications } = await connection.notifications({ after, max: 10 });
  expect(notifications.map(({ type }) => type)).toEqual(types);
  const outcome = status === 'ACSC' ? 'received' : 'voided';
  expect(await connection.void(reference)).toEqual({ outcome });
});

it.each([
  ['rejects a submission', 'pacs.008', 'RJCT', (instruction) => connection.submit(instruction)],
  [
    'rejects it to an inquiry',
    'pacs.028',
    'RJCT',
    ({ reference }) => connection.inquire(reference),
  ],
  ['cancels it', 'camt.056', 'CNCL', ({ reference }) => connection.void(reference)],
] satisfies [string, string, string, (instruction: TransferInstruction) => Promise<unknown>][])(
  'staff see a direct answer that %s although the bank has accepted it meanwhile',
  async (_what, asked, status, ask) => {
    const kept: BankNotification[] = [];
    const keepNotification = (one: BankNotification) => Promise.resolve(void kept.push(one));
    connection = connect({ keepNotification });
    const instruction = payment('0401');
    if (asked !== 'pacs.008') await connection.submit(instruction);
    const send = bank.send.bind(bank);
    bank.send = async (message) => {
      const answer = await send(message);
      if (answer === null) throw new Error('the bank gives no answer');
      deliver(instruction.reference, { status: 'ACSC' });
      await connection.notifications({ after: '', max: 10 });
      const read = readIsoMessage(answer).message;
      return 'status' in read ? bank.write({ ...read, status } as IsoMessage) : answer;
    };
    const { outcome } = (await ask(instruction)) as { outcome: string };
    expect(outcome).toBe(asked === 'camt.056' ? 'received' : 'accepted');
    expect(kept).toEqual([
      expect.objectContaining({
        type: 'unreadable',
        sequence: expect.stringMatching(/^answer BANK\d+$/) as unknown,
        reference: expect.stringMatching(/^ISO message BANK\d+$/) as unknown,
      }),
    ]);
  },
);

it('keeps the place of an inbox whose cursor moves over nothing', async () => {
  bank.inbox = () => Promise.resolve({ messages: [], cursor: 'moved' });
  expect(await connection.notifications({ after: '', max: 10 })).toEqual({
    notifications: [],
    cursor: 'moved',
  });
});

it('is read on at once behind many messages, also when they are fewer than were asked for', async () => {
  const { reference } = payment('0401');
  await connection.submit({ ...payment('0401'), reference });
  // As over HTTPS, where a page must not be too large.
  const { inbox } = bank;
  bank.inbox = ({ after, max }) => inbox.call(bank, { after, max: Math.min(max, 64) });
  for (let count = 0; count < 64 + 16 + 1; count += 1) deliver(reference, { status: 'ACSC' });
  const lengths: number[] = [];
  let after = '';
  for (let isMore = true; isMore; ) {
    const page = await connection.notifications({ after, max: 200 });
    lengths.push(page.notifications.length);
    after = page.cursor;
    isMore = page.mayHaveMore === true;
  }
  expect(lengths).toEqual([64, 17, 0]);
  // Behind a single message the bank is not asked again.
  deliver(reference, { status: 'ACSC' });
  const last = await connection.notifications({ after, max: 200 });
  expect(last).toMatchObject({ notifications: [{ type: 'confirmed' }], mayHaveMore: false });
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

it('sends nothing that staff found in the books of the bank after a restore, and tells a return of it', async () => {
  const instruction = payment('4321');
  const { reference } = instruction;
  const finding = { connection: name, reference };
  expect(await settleIsoTransfer(pool, finding, 'executed')).toBe('accepted');
  expect(await settleIsoTransfer(pool, finding, 'never-sent')).toBe('accepted');
  expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
  expect(await connection.inquire(reference)).toEqual({ outcome: 'accepted' });
  expect(await connection.void(reference)).toEqual({ outcome: 'received' });
  expect(bank.received).toEqual([]);

  deliver(reference, { status: 'ACSC' });
  bank.deliver(bank.write(returnOf(reference, 'FEDNOW')));
  const { notifications } = await connection.notifications({ after: '', max: 10 });
  expect(notifications).toMatchObject([
    { type: 'unreadable', reference: expect.stringMatching(/^ISO message /) as string },
    // The payment's own amount decides: the row has none.
    {
      type: 'returned',
      reference,
      returnedAmount: { amountMinor: 1_234_567, currencyCode: 'USD' },
    },
  ]);
});

/** Cents. */
const sentMinor = 12_345;

it.each([
  ['FEDNOW', '123.45', 'USD', 'returned'],
  ['FEDNOW', '123.44', 'USD', 'unreadable'],
  ['FEDNOW', '123.46', 'USD', 'unreadable'],
  ['FEDNOW', '123.45', 'EUR', 'unreadable'],
  ['SWIFT', '123.45', 'USD', 'returned'],
  ['SWIFT', '123.44', 'USD', 'returned'],
  ['SWIFT', '0.01', 'USD', 'returned'],
  ['SWIFT', '123.4000', 'USD', 'returned'],
  ['SWIFT', '123.46', 'USD', 'unreadable'],
  ['SWIFT', '0.00', 'USD', 'unreadable'],
  ['SWIFT', '123.44', 'EUR', 'unreadable'],
] as const)(
  'over %s, a return of %s %s where 123.45 was sent is %s, and says what came back of which transfer',
  async (rail, amount, currencyCode, type) => {
    const { reference, notifications } = await toldReturn(rail, amount, currencyCode);
    const amountMinor = Math.round(Number(amount) * 100);
    const returnedAmount = { amountMinor, currencyCode };
    const returnReference = expect.any(String) as string;
    expect(notifications).toMatchObject([{ type, reference, returnReference, returnedAmount }]);
  },
);

it.each(['123.449', '-1.00'])('a return of %s cannot be read', async (amount) => {
  const { notifications } = await toldReturn('SWIFT', amount, 'USD');
  const reference = expect.stringMatching(/^ISO message /) as string;
  expect(notifications).toMatchObject([{ type: 'unreadable', reference, returnedAmount: null }]);
});

async function toldReturn(rail: IsoRail, amount: string, currencyCode: string) {
  bank = new SmallBank(profileOf(rail), isoSender);
  connection = isoConnection({ pool, keyring, bank, name, rail });
  const ordinary = instructionEnding('4321', { rail, amountMinor: sentMinor });
  const contactAccount = { ...ordinary.contactAccount, swiftCode: 'BOFAUS3N' };
  const { reference } = ordinary;
  await connection.submit({ ...ordinary, contactAccount });
  const returned = { ...returnOf(reference, rail), currencyCode };
  const xml = Buffer.from(bank.write(returned)).toString();
  bank.deliver(Buffer.from(xml.replaceAll(/(<RtrdI[^>]+>)[^<]+/g, `$1${amount}`)));
  const { notifications } = await connection.notifications({ after: '', max: 10 });
  return { reference, notifications };
}

it('sends nothing that staff did not find in the books of the bank', async () => {
  const instruction = payment('4321');
  const { reference } = instruction;
  await settleIsoTransfer(pool, { connection: name, reference }, 'never-sent');
  expect(await connection.submit(instruction)).toMatchObject({ outcome: 'error' });
  expect(bank.received).toEqual([]);
});

describe('a rejection', () => {
  const rejected = { status: 'RJCT', reason: { code: 'DT01', proprietary: null, text: null } };
  const notifications = async () =>
    (await connection.notifications({ after: '', max: 100 })).notifications;
  const stateOf = async (reference: string) =>
    (await new IsoTransfers(pool, name, fileArchive({ pool, keyring })).find(reference))?.state;

  it('of a repetition that comes through the inbox does not fail what the bank executed', async () => {
    const instruction = payment('4321');
    bank.answers = ['lost', 'later'];
    bank.repetitionsRejectedFor = 'DT01';
    await connection.submit(instruction).catch(() => undefined);
    expect(await connection.submit(instruction)).toMatchObject({ outcome: 'pending' });
    expect(await notifications()).toEqual([]);
    expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
    expect(bank.executed).toEqual([instruction.reference]);
  });

  it('of a repetition does not show that the bank has the first one', async () => {
    const instruction = payment('4321');
    bank.answers = ['lost', 'later'];
    bank.repetitionsRejectedFor = 'DT01';
    await connection.submit(instruction).catch(() => undefined);
    await connection.submit(instruction);
    await notifications();
    bank.findsNothing = true;
    expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'unknown' });
  });

  it('of a transfer that was sent once is told', async () => {
    const instruction = payment('0401');
    await connection.submit(instruction);
    deliver(instruction.reference, rejected);
    expect(await notifications()).toMatchObject([
      { type: 'rejected', reference: instruction.reference, rejection: { railCode: 'DT01' } },
    ]);
  });

  it.each(['ACCP', 'ACSP'])('after %s is told', async (status) => {
    const instruction = payment('0401');
    await connection.submit(instruction);
    deliver(instruction.reference, { status });
    deliver(instruction.reference, rejected);
    expect((await notifications()).map(({ type }) => type)).toEqual(['rejected']);
  });

  it('of a transfer that was sent twice and is held is shown to staff', async () => {
    const instruction = payment('0502');
    bank.answers = ['lost'];
    await connection.submit(instruction).catch(() => undefined);
    expect(await connection.submit(instruction)).toMatchObject({ confirmationExpected: false });
    deliver(instruction.reference, rejected);
    expect(await notifications()).toMatchObject([{ type: 'unreadable' }]);
  });

  it('after the acceptance fails nothing, and is shown to staff', async () => {
    const instruction = payment('4321');
    await connection.submit(instruction);
    deliver(instruction.reference, rejected);
    expect(await notifications()).toMatchObject([{ type: 'unreadable' }]);
  });

  it('counts only while nothing was sent since', async () => {
    const instruction = payment('4321');
    bank.answers = ['lost'];
    await connection.submit(instruction).catch(() => undefined);
    const transfers = new IsoTransfers(pool, name, fileArchive({ pool, keyring }));
    const asked = await transfers.find(instruction.reference);
    if (asked === null) throw new Error('no row');
    await transfers.noteSend(instruction.reference);
    expect(await transfers.settle(asked, 'rejected')).toMatchObject({ state: 'sending', sends: 2 });
  });

  it('of a repetition is no proof while the bank has not found the first one', async () => {
    const instruction = payment('4321');
    bank.answers = ['lost'];
    bank.repetitionsRejectedFor = 'TM01';
    bank.findsNothing = true;
    await connection.submit(instruction).catch(() => undefined);
    await expect(connection.submit(instruction)).rejects.toBeInstanceOf(BankAnswerUnclear);
    bank.findsNothing = false;
    expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
  });

  it('of one of two that were sent at the same time fails nothing', async () => {
    const instruction = payment('4321');
    bank.repetitionsRejectedFor = 'AM04';
    const both = Promise.withResolvers<undefined>();
    const send = bank.send.bind(bank);
    let sent = 0;
    bank.send = async (message) => {
      const answer = await send(message);
      if (readIsoMessage(message.xml).message.type !== 'pacs.008') return answer;
      sent += 1;
      if (sent === 2) both.resolve(undefined);
      await both.promise;
      return answer;
    };
    const results = await Promise.all([
      connection.submit(instruction),
      connect().submit(instruction),
    ]);
    expect(results).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }]);
  });

  it.each(['FF02', 'SL03', 'NARR'])(
    'of our inquiry (%s) says nothing of the transfer',
    async (code) => {
      const instruction = payment('0401');
      await connection.submit(instruction);
      bank.inquiriesRejectedFor = code;
      await expect(connection.inquire(instruction.reference)).rejects.toBeInstanceOf(
        BankAnswerUnclear,
      );
      bank.answers = ['later'];
      expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'received' });
      expect(await notifications()).toEqual([]);
      expect(await stateOf(instruction.reference)).toBe('received');
    },
  );
});
