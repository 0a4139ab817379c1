import { BankRefused } from '@pis/bank-rails';
import {
  type CreditTransfer,
  derivedText,
  type IsoMessage,
  type IsoRail,
  isoRails,
  type OriginalTransfer,
  profileOf,
  readIsoMessage,
  uetrOf,
  writeIsoMessage,
} from '@pis/bank-rails/iso20022';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { BankCore } from './bank-core.js';
import { inProcessMessages } from './in-process-messages.js';
import { MessageDesk } from './message-desk.js';

let pool: pg.Pool;
let database: TestDatabase;
let desk: MessageDesk;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  desk = new MessageDesk(new BankCore(pool, { delayMs: 0 }));
});
afterEach(async () => {
  desk.close();
  await pool.end();
  await database.drop();
});

const customer = { routingNumber: '021000021', bic: 'AAAAUS33XXX', participantId: null };
const at = new Date('2026-11-23T15:30:00.123Z');
let count = 0;

/** An agent as the rail names banks. */
const agentOf = (rail: IsoRail, routingNumber: string, bic: string) =>
  profileOf(rail).agents === 'BIC' ? { routingNumber: null, bic } : { routingNumber, bic: null };

function head(rail: IsoRail, seed: string) {
  count += 1;
  const profile = profileOf(rail);
  return {
    messageId: profile.messageId({ day: '20261123', identity: customer, seed, number: count }),
    createdAt: profile.dateTime(at),
  };
}

function transferOf(rail: IsoRail, ending: string): CreditTransfer {
  count += 1;
  const reference = derivedText(`test ${count}`, 22, 62);
  const profile = profileOf(rail);
  const code = derivedText(reference, 16, 36);
  const instructionId = profile.instructionId({ day: '20261123', identity: customer, code });
  const ours = agentOf(rail, '021000021', 'AAAAUS33XXX');
  const theirs = agentOf(rail, '011401533', 'BBBBFRPPXXX');
  const address = {
    ...{ street: '1 Main Street', postalCode: '10001', town: 'New York', state: 'NY' },
    ...{ country: 'US', lines: [] },
  };
  return {
    type: 'pacs.008',
    ...head(rail, reference),
    instructionId,
    endToEndId: reference,
    transactionId: profile.hasTransactionId ? instructionId : null,
    uetr: uetrOf(reference),
    amountMinor: 12_345,
    currencyCode: 'USD',
    settlementDate: '2026-11-23',
    isBusiness: profile.paymentType.categoryPurpose === null ? null : true,
    instructingAgent: ours,
    instructedAgent: theirs,
    debtor: { name: 'Acme Corp', address },
    debtorAccount: '987654321098',
    debtorAgent: ours,
    creditorAgent: theirs,
    creditor: { name: 'Ada Lovelace', address },
    creditorAccount: `77665544${ending}`,
    note: null,
  };
}

function originalOf(transfer: CreditTransfer, rail: IsoRail): OriginalTransfer {
  const { messageId, createdAt, instructionId, endToEndId, transactionId, uetr } = transfer;
  const messageName = profileOf(rail).versions['pacs.008'];
  return { messageId, messageName, createdAt, instructionId, endToEndId, transactionId, uetr };
}

async function send(rail: IsoRail, message: IsoMessage): Promise<IsoMessage> {
  const sender = { ...customer, isTest: true };
  const xml = writeIsoMessage(profileOf(rail), sender, message);
  const answer = await inProcessMessages(desk).send({ id: message.messageId, xml });
  if (answer === null) throw new Error('the bank did not answer');
  return readIsoMessage(answer).message;
}

const ask = (rail: IsoRail, transfer: CreditTransfer) => {
  const isRtp = profileOf(rail).originals === 'RTP';
  const original = originalOf(transfer, rail);
  return send(rail, {
    type: 'pacs.028',
    ...head(rail, `ask ${count}`),
    original: isRtp ? { ...original, endToEndId: null, uetr: null } : original,
    originalAmount: isRtp ? transfer : null,
    originalSettlementDate: isRtp ? transfer.settlementDate : null,
    instructingAgent: transfer.instructingAgent,
    instructedAgent: transfer.instructedAgent,
  });
};

const cancel = (rail: IsoRail, transfer: CreditTransfer) =>
  send(rail, {
    type: 'camt.056',
    ...head(rail, `cancel ${count}`),
    caseId: 'CASE1',
    original: originalOf(transfer, rail),
    originalAmountMinor: transfer.amountMinor,
    currencyCode: 'USD',
    originalSettlementDate: transfer.settlementDate,
    reason: { code: 'CUST', proprietary: null, text: null },
    assigner: transfer.instructingAgent,
    assignee: transfer.instructedAgent,
  });

async function inbox() {
  const { messages } = await inProcessMessages(desk).inbox({ after: '', max: 100 });
  return messages.map(({ xml }) => readIsoMessage(xml).message);
}

describe.each(isoRails)('the message desk of the simulated bank, %s', (rail) => {
  const accepted = profileOf(rail).acceptedStatus;

  it.each([
    ['4321', accepted, null],
    ['0204', 'RJCT', 'MS03'],
    ['0401', 'RCVD', null],
    ['0502', 'PDNG', null],
  ])('answers a transfer to %s with %s, as often as it comes', async (ending, status, code) => {
    const transfer = transferOf(rail, ending);
    for (let times = 0; times < 2; times += 1)
      expect(await send(rail, transfer)).toMatchObject({
        type: 'pacs.002',
        status,
        reason: code === null ? null : { code },
        original: { instructionId: transfer.instructionId },
      });
    expect(await ask(rail, transfer)).toMatchObject({ type: 'pacs.002', status });
    expect(await bankBooks(pool)).toHaveLength(status === 'RJCT' ? 0 : 1);
  });

  it('rejects another message under the same end-to-end id', async () => {
    const transfer = transferOf(rail, '4321');
    await send(rail, transfer);
    const again = { ...transfer, ...head(rail, 'again') };
    expect(await send(rail, again)).toMatchObject({ status: 'RJCT', reason: { code: 'DUPL' } });
    expect(await bankBooks(pool)).toHaveLength(1);
  });

  it('returns a transfer with the code of the scenario', async () => {
    const transfer = transferOf(rail, '0101');
    const uncoded = transferOf(rail, '0199');
    for (const one of [transfer, uncoded]) await send(rail, one);
    const returned = { type: 'pacs.004', returnedAmountMinor: 12_345 };
    const messages = await inbox();
    expect(messages).toMatchObject([
      { ...returned, reason: { proprietary: 'R01' }, original: { uetr: transfer.uetr } },
      { ...returned, reason: null, original: { uetr: uncoded.uetr } },
    ]);
    expect(await inbox()).toEqual(messages);
    expect((await bankBooks(pool)).map(({ state }) => state)).toEqual(['returned', 'returned']);
  });

  it('confirms a late transfer after a status request, once', async () => {
    const transfer = transferOf(rail, '0402');
    await send(rail, transfer);
    for (let times = 0; times < 2; times += 1) await ask(rail, transfer);
    expect(await inbox()).toMatchObject([{ type: 'pacs.002', status: accepted }]);
    expect(await ask(rail, transfer)).toMatchObject({ status: accepted });
  });

  it('cancels what it does not have, and never executes it afterwards', async () => {
    const transfer = transferOf(rail, '4321');
    expect(await ask(rail, transfer)).toMatchObject({ status: 'RJCT', reason: { code: 'NOOR' } });
    expect(await cancel(rail, transfer)).toMatchObject({ type: 'camt.029', status: 'CNCL' });
    expect(await send(rail, transfer)).toMatchObject({ status: 'RJCT', reason: { code: 'CUST' } });
    expect(await bankBooks(pool)).toEqual([]);
    const taken = transferOf(rail, '4321');
    await send(rail, taken);
    expect(await cancel(rail, taken)).toMatchObject({ type: 'camt.029', status: 'RJCR' });
  });

  it('keeps no account number and no name', async () => {
    await send(rail, transferOf(rail, '0101'));
    const { rows } = await pool.query<{ row: string }>(
      `SELECT t::text AS row FROM bank_transfers t UNION ALL SELECT e::text FROM bank_executions e`,
    );
    const everything = JSON.stringify(rows);
    for (const hidden of ['776655440101', '987654321098', '011401533', 'Lovelace', 'Acme'])
      expect(everything).not.toContain(hidden);
  });
});

it('the message desk refuses what is no message of a customer', async () => {
  const transport = inProcessMessages(desk);
  const refuses = (xml: Uint8Array) =>
    expect(transport.send({ id: 'X', xml })).rejects.toBeInstanceOf(BankRefused);
  await refuses(Buffer.from('not xml'));
  await refuses(Buffer.from('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'));
  await refuses(Buffer.alloc(1_000_000, ' '));
});
