/** What the archive keeps of the bank's ACH files, and what an erasure leaves. */
import { randomUUID } from 'node:crypto';
import { type Owner, ownerOf } from '@pis/keyring';
import type { TransferInstruction } from '../../bank-connection.js';
import { blankErased, blankUnmatched } from '../../connections/archive-retention.js';
import { fileArchive } from '../../connections/file-archive.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const quotes = 'account 776655444321 of Ada Lovelace is unknown';
const unknownTrace = '091000019999999';

/** Acknowledges the file of a payment: its entry is rejected with a text, and so is one that is not ours. */
async function rejected(): Promise<TransferInstruction> {
  const instruction = await world.unacknowledged('4321');
  const { name, sha256 } = world.desk.upload();
  const entry = { status: 'rejected', code: 'ACCOUNT_NUMBER', message: quotes } as const;
  world.desk.postAck({
    ...{ name, sha256, status: 'accepted' },
    entries: [
      { ...entry, traceNumber: await world.traceOf(instruction) },
      { ...entry, traceNumber: unknownTrace },
    ],
  });
  await world.bank.rounds.inbound();
  return instruction;
}

const archive = () => fileArchive(world);
async function acksOf(paymentId?: string): Promise<readonly string[]> {
  const filter = { ...(paymentId !== undefined && { paymentId }), max: 10 };
  const files = (await archive().list(filter)).filter(({ kind }) => kind === 'ack');
  return Promise.all(files.map(async ({ id }) => String((await archive().read(id))?.bytes)));
}
const ends = () => ({
  pool: world.pool,
  destroyKeys: (owners: readonly Owner[]) => world.keyring.destroy(owners),
});

it('finds an acknowledgement by a payment that it lists', async () => {
  const { paymentId } = await rejected();
  const [ack, ...others] = await acksOf(paymentId);
  expect(others).toEqual([]);
  expect(ack?.split('\n').map((line) => line.includes(quotes))).toEqual([
    ...[false, true, true, false, false],
  ]);
});

it.each([
  ['contact', ({ contactId }: TransferInstruction) => ownerOf.contact(contactId)],
  ['originator', ({ originatorId }: TransferInstruction) => ownerOf.originator(originatorId)],
])(
  'loses the line about a payment when its %s is erased, and no other line',
  async (_who, ownerIn) => {
    const instruction = await rejected();
    await world.keyring.destroy([ownerIn(instruction)]);
    const [ack = ''] = await acksOf();
    expect(ack.match(/Ada Lovelace/g)).toHaveLength(1);
    expect(ack).toContain('"type":"file"');
    expect(ack).toContain(unknownTrace);
    expect(ack).not.toContain(await world.traceOf(instruction));
  },
);

it('destroys lines about entries that are not ours after half a year', async () => {
  await rejected();
  expect(await blankUnmatched(ends(), 10)).toBe(0);
  await world.pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '180 days'`);
  expect(await blankUnmatched(ends(), 10)).toBe(1);
  const [ack = ''] = await acksOf();
  expect(ack.match(/Ada Lovelace/g)).toHaveLength(1);
  expect(ack).not.toContain(unknownTrace);
});

it('destroys what a bank says about a whole file after half a year, if it is free text', async () => {
  await world.unacknowledged('4321');
  const { name, sha256 } = world.desk.upload();
  world.desk.postAck({ name, sha256, status: 'rejected', code: 'OTHER', message: quotes });
  await world.bank.rounds.inbound();
  expect((await acksOf()).join()).toContain('Ada Lovelace');
  await world.pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '180 days'`);
  await blankUnmatched(ends(), 10);
  expect((await acksOf()).join()).not.toContain('Ada Lovelace');
});

it('destroys a file that nobody could read after half a year, and keeps its hash', async () => {
  world.desk.post('broken.ach', Buffer.from(`101 ${quotes}`));
  await world.bank.rounds.inbound();
  const [file] = await archive().list({ max: 1 });
  expect(file).toMatchObject({ kind: 'unreadable', name: 'broken.ach' });
  const read = async () => archive().read(file?.id ?? '');
  expect(String((await read())?.bytes)).toContain('Ada Lovelace');
  await world.pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '180 days'`);
  expect(await blankUnmatched(ends(), 10)).toBe(1);
  expect(await read()).toMatchObject({ file, erasedBytes: file?.sizeBytes });
  const owner = ownerOf.railFile(file?.id ?? '');
  expect(await world.keyring.destroyedOf([owner])).toEqual(new Set([owner]));
});

it('seals a return that may be another payment’s for nobody that it knows', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  await world.pool.query("UPDATE ach_entries SET individual_id = 'ANOTHER'");
  await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
  await world.settle();
  const { rows } = await world.pool.query<{ owner: string; payment_id: string | null }>(
    `SELECT owner, payment_id FROM rail_file_parts p JOIN rail_files f ON f.id = file_id
      WHERE way = 'in' AND kind = 'nacha' AND owner NOT LIKE 'railArchive:test-ach/%'`,
  );
  expect(rows).toEqual([
    { owner: expect.stringMatching(/^railArchive:file\//) as unknown, payment_id: null },
  ]);
});

it('blanks the parts of an erased contact, and leaves those of others', async () => {
  const [ada, bob] = await Promise.all([
    world.submit('4321'),
    world.submit('4322', { contactId: 'b0b6e4d2-8b1e-4a8e-9f57-0c1f5b6f7a01' }),
  ]);
  await world.settle();
  const party = ownerOf.contact(ada.contactId);
  await blankErased(ends(), { party, paymentIds: [ada.paymentId] });
  const { rows } = await world.pool.query<{ owner: string }>(
    `SELECT DISTINCT owner FROM rail_file_parts
      WHERE sealed = '' AND owner NOT LIKE 'railArchive:file/%'`,
  );
  expect(rows).toEqual([{ owner: party }]);
  expect(await archive().list({ paymentId: bob.paymentId, max: 10 })).not.toEqual([]);
});

/** The archived file that a payment went out in, as staff see it. */
async function sentWith({ paymentId }: TransferInstruction): Promise<string> {
  const files = await archive().list({ paymentId, max: 10 });
  const sent = files.find(({ way }) => way === 'out');
  return Buffer.from((await archive().read(sent?.id ?? ''))?.bytes ?? []).toString();
}

it('loses the totals of a file that was about an erased contact alone: they hold the routing number', async () => {
  const alone = await world.unacknowledged('4321');
  const bankId = alone.contactAccount.achRoutingNumber.slice(0, 8);
  expect((await sentWith(alone)).split(bankId)).toHaveLength(4);
  await world.keyring.destroy([ownerOf.contact(alone.contactId)]);
  expect((await sentWith(alone)).trim()).toBe('');
});

/** Two payments to contacts of their own, in one file. */
async function sentTogether(): Promise<readonly [TransferInstruction, TransferInstruction]> {
  const one = await world.submit('4321', { contactId: randomUUID() });
  const two = await world.submit('4321', { contactId: randomUUID() });
  await world.settle();
  return [one, two];
}

it('destroys the totals of a file when one of its contacts is erased: less the others, they tell the one', async () => {
  const [erased, other] = await sentTogether();
  for (const control of ['\n8', '\n9']) expect(await sentWith(other)).toContain(control);
  const party = ownerOf.contact(erased.contactId);
  await world.keyring.destroy([party]);
  await blankErased(ends(), { party, paymentIds: [erased.paymentId] });
  const sent = await sentWith(other);
  expect(sent.split(other.contactAccount.achAccountNumber)).toHaveLength(2);
  expect(sent).toMatch(/^101 /);
  for (const control of ['\n8', '\n9']) expect(sent).not.toContain(control);
  expect(sent.split(other.contactAccount.achRoutingNumber.slice(0, 8))).toHaveLength(2);
});

it('destroys the totals of a file of several contacts after half a year, and nothing else', async () => {
  const [one, two] = await sentTogether();
  await world.pool.query(`UPDATE rail_files SET blank_at = blank_at - interval '180 days'`);
  expect(await blankUnmatched(ends(), 10)).toBe(1);
  const sent = await sentWith(one);
  for (const control of ['\n8', '\n9']) expect(sent).not.toContain(control);
  expect(sent.split(one.contactAccount.achAccountNumber)).toHaveLength(3);
  expect(await sentWith(two)).toBe(sent);
});
