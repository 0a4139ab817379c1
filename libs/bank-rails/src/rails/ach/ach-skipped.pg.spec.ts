import { ownerOf } from '@pis/keyring';
import { fileArchive } from '../../connections/file-archive.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { parseNachaFile } from './nacha-parser.js';
import { writeNachaFile } from './nacha-writer.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

/** The file, with the batches of another one before its own, in a class that is not supported. */
async function withBatchOf(other: Uint8Array, entryClass: string, bytes: Uint8Array) {
  const [before, own] = await Promise.all([parseNachaFile(other), parseNachaFile(bytes)]);
  if (own.file === null) throw new Error('the file cannot be read');
  const batches = [...(before.file?.batches ?? []), ...own.file.batches];
  const text = Buffer.from(await writeNachaFile({ ...own.file, batches })).toString('latin1');
  return Buffer.from(text.replace(/^(5.{49})PPD/m, `$1${entryClass}`), 'latin1');
}

it('an inbound file with a batch that is not supported has all others taken, and that one told to staff', async () => {
  const [first, second] = [await world.submit('4321'), await world.submit('4322')];
  await world.settle();
  const [trace, next] = [await world.traceOf(first), await world.traceOf(second)];
  const bytes = await world.desk.postReturns([trace, next], 'R01');
  const other = await world.desk.postReturns([trace], 'R02');
  world.desk.inbox.clear();
  world.desk.post('r.ach', await withBatchOf(other, 'TEL', bytes));
  await world.bank.rounds.inbound();
  expect((await world.feed()).filter(({ type }) => type !== 'confirmed')).toMatchObject([
    { type: 'returned', reference: first.reference, returnReasonCode: 'R01' },
    { type: 'returned', reference: second.reference, returnReasonCode: 'R01' },
    { type: 'unreadable', reference: 'ACH file r.ach' },
  ]);
  // Each entry is sealed under its contact.
  const archive = fileArchive(world);
  const [file] = await archive.list({ paymentId: second.paymentId, max: 1 });
  const kept = async () => String((await archive.read(file?.id ?? ''))?.bytes);
  expect(await kept()).toContain('776655444322');
  await world.keyring.destroy([ownerOf.contact(second.contactId)]);
  expect(await kept()).not.toContain('776655444322');
  expect(await kept()).toContain('776655444321');
});
