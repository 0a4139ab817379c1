/** What the archive and the tables keep of the parties of ISO 20022 messages, and what an erasure leaves. */
import { randomUUID } from 'node:crypto';
import { type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  BankAnswerUnclear,
  type BankConnection,
  type TransferInstruction,
} from '../../bank-connection.js';
import { blankErased, blankUnmatched } from '../../connections/archive-retention.js';
import { type FileArchive, fileArchive } from '../../connections/file-archive.js';
import { instructionEnding } from '../../testing.js';
import { profileOf } from './profiles.js';
import { readIsoMessage } from './read-messages.js';
import { isoConnection } from './testing/iso-connection.js';
import { isoSender } from './testing/sample-messages.js';
import { SmallBank } from './testing/small-bank.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let archive: FileArchive;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  keyring = await testKeyringOn(pool);
  archive = fileArchive({ pool, keyring });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

let bank: SmallBank;
let connection: BankConnection;
let name: string;
beforeEach(() => {
  bank = new SmallBank(profileOf('FEDNOW'), isoSender);
  name = randomUUID();
  connection = connect();
});
/** As from another process. */
const connect = (): BankConnection => isoConnection({ pool, keyring, bank, name, rail: 'FEDNOW' });

/** From Grace, a person, to Ada. */
const payment = (ending: string): TransferInstruction => ({
  ...instructionEnding(ending, {
    originatorId: randomUUID(),
    originatorEntityType: 'INDIVIDUAL',
    originatorName: 'Grace Hopper',
    contactId: randomUUID(),
  }),
  rail: 'FEDNOW',
});

const personal = [
  ...['Grace Hopper', '987654321098', 'Albany'],
  ...['Ada Lovelace', '77665544', 'Boston', 'Invoice 1042', '011000138'],
];

/** The return of a transfer, which names both parties. */
function deliverReturn(reference: string): void {
  const ours = { routingNumber: '021000021', bic: null };
  const theirs = { routingNumber: '011000138', bic: null };
  const message = {
    type: 'pacs.004' as const,
    messageId: randomUUID().replaceAll('-', ''),
    createdAt: '2026-11-24T16:00:00Z',
    returnId: 'RETURN1',
    original: {
      ...{ messageId: null, messageName: null, createdAt: null, instructionId: null },
      ...{ endToEndId: reference, transactionId: null, uetr: null },
    },
    ...{ originalAmountMinor: 12_345, originalSettlementDate: '2026-11-24' },
    ...{ returnedAmountMinor: 12_345, currencyCode: 'USD', settlementDate: '2026-11-24' },
    ...{ reason: null, instructingAgent: theirs, instructedAgent: ours },
    debtor: { name: 'Ada Lovelace', address: null },
    creditor: { name: 'Grace Hopper', address: null },
  };
  bank.deliver(bank.write(message));
}

const feed = () => connection.notifications({ after: '', max: 100 });
async function copiesOf({ paymentId }: TransferInstruction): Promise<readonly string[]> {
  const files = await archive.list({ paymentId, max: 100 });
  return Promise.all(files.map(async ({ id }) => String((await archive.read(id))?.bytes)));
}
const foundIn = (texts: readonly string[]) =>
  personal.filter((one) => texts.some((text) => text.includes(one)));

it.each([
  ['contact', ({ contactId }: TransferInstruction): Owner => ownerOf.contact(contactId)],
  [
    'originator, who is a person,',
    ({ originatorId }: TransferInstruction): Owner => ownerOf.originator(originatorId),
  ],
])('opens to no name once the %s is erased', async (_who, ownerIn) => {
  const instruction = payment('4321');
  await connection.submit(instruction);
  deliverReturn(instruction.reference);
  await feed();
  const [returned, answer, sent] = await copiesOf(instruction);
  expect(foundIn([sent ?? ''])).toEqual(personal);
  expect(foundIn([returned ?? ''])).toEqual(['Grace Hopper', 'Ada Lovelace', '011000138']);
  expect(answer).toContain('ACSC');
  await keyring.destroy([ownerIn(instruction)]);
  const copies = await copiesOf(instruction);
  expect(copies).toHaveLength(3);
  expect(copies.join('').trim()).toBe('');
});

it('keeps the messages of a business that has another contact erased', async () => {
  const instruction = { ...payment('4321'), originatorEntityType: 'BUSINESS' as const };
  const other = { ...payment('4321'), originatorId: instruction.originatorId };
  await connection.submit(instruction);
  await keyring.destroy([ownerOf.contact(other.contactId)]);
  expect((await copiesOf(instruction)).every((text) => text.includes('<'))).toBe(true);
});

it('keeps the contact’s bank in sealed messages alone, inquiries and cancellations included', async () => {
  const instruction = payment('0401');
  await connection.submit(instruction);
  await connection.inquire(instruction.reference);
  await connection.void(instruction.reference);
  const names = bank.received.map((xml) => readIsoMessage(xml).message.type);
  expect(names).toEqual(['pacs.008', 'pacs.028', 'camt.056']);
  for (const xml of bank.received) expect(String(Buffer.from(xml))).toContain('011000138');
  const { rows } = await pool.query<{ row: string }>(
    `SELECT t::text AS row FROM iso_transfers t
     UNION ALL SELECT f::text FROM rail_files f UNION ALL SELECT p::text FROM rail_file_parts p`,
  );
  expect(rows.filter(({ row }) => row.includes('011000138'))).toEqual([]);
  await keyring.destroy([ownerOf.contact(instruction.contactId)]);
  expect((await copiesOf(instruction)).join('').trim()).toBe('');
});

it('does not ask the bank about a transfer whose message was erased', async () => {
  const instruction = payment('0401');
  await connection.submit(instruction);
  await keyring.destroy([ownerOf.contact(instruction.contactId)]);
  await expect(connection.inquire(instruction.reference)).rejects.toThrow(BankAnswerUnclear);
  expect(bank.received).toHaveLength(1);
});

it('destroys what is about no transfer that it knows after half a year, and keeps its hash', async () => {
  deliverReturn('a transfer that was forgotten');
  bank.deliver(Buffer.from('<Nm>Ada Lovelace</Nm>'));
  await feed();
  const files = (await archive.list({ max: 2 })).map(({ id, sha256 }) => ({ id, sha256 }));
  const owners = files.map(({ id }) => ownerOf.railFile(id));
  const texts = () =>
    Promise.all(files.map(async ({ id }) => String((await archive.read(id))?.bytes)));
  for (const text of await texts()) expect(text).toContain('Ada Lovelace');
  const ends = { pool, destroyKeys: (some: readonly Owner[]) => keyring.destroy(some) };
  expect(await blankUnmatched(ends, 10)).toBe(0);
  await pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '179 days'`);
  expect(await blankUnmatched(ends, 10)).toBe(0);
  await pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '1 day'`);
  expect(await blankUnmatched(ends, 10)).toBe(2);
  expect(await blankUnmatched(ends, 10)).toBe(0);
  expect((await texts()).join('').trim()).toBe('');
  expect(await keyring.destroyedOf(owners)).toEqual(new Set(owners));
  expect(await archive.list({ max: 2 })).toMatchObject(files);
});

it('makes one key for an unmatched message that is read again', async () => {
  bank.deliver(Buffer.from(`<a>${randomUUID()}</a>`));
  const keys = async () =>
    (await pool.query(`SELECT 1 FROM data_keys WHERE owner LIKE 'railArchive:file/%'`)).rowCount;
  const before = (await keys()) ?? 0;
  await feed();
  await connect().notifications({ after: '', max: 100 });
  expect(await keys()).toBe(before + 1);
});

it('blanks the parts of an erased originator that earlier versions sealed for the contact alone', async () => {
  const instruction = payment('4321');
  await connection.submit(instruction);
  deliverReturn(instruction.reference);
  await feed();
  const { contactId, originatorId, paymentId } = instruction;
  const bytes = Buffer.from('<Nm>Grace Hopper</Nm>');
  await archive.keep({
    ...({ connection: 'old', rail: 'FEDNOW', way: 'in', kind: 'pacs.002', name: 'OLD' } as const),
    segments: [{ bytes, owner: ownerOf.contact(contactId), paymentId }],
  });
  const party = ownerOf.originator(originatorId);
  await keyring.destroy([party]);
  expect(foundIn(await copiesOf(instruction))).toEqual(['Grace Hopper']);
  const destroyKeys = (owners: readonly Owner[]) => keyring.destroy(owners);
  await blankErased({ pool, destroyKeys }, { party, paymentIds: [paymentId] });
  expect(foundIn(await copiesOf(instruction))).toEqual([]);
});
