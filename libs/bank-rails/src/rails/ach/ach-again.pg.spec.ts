/** An operator applies an archived file again. */
import { randomUUID } from 'node:crypto';
import { ownerOf } from '@pis/keyring';
import { fileArchive } from '../../connections/file-archive.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { applyAchFileAgain } from './ach-again.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const again = async (id: string) => {
  const { pool, keyring } = world;
  return applyAchFileAgain(id, { pool, keyring, log });
};
async function newest(): Promise<string> {
  const [file] = await fileArchive(world).list({ max: 1 });
  return file?.id ?? '';
}

it('a file that could not be applied is applied, once', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  const column = (from: string, to: string) =>
    world.pool.query(`ALTER TABLE ach_entries RENAME COLUMN ${from} TO ${to}`);
  await column('return_reason_code', 'missing');
  await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
  await world.bank.rounds.inbound();
  await column('missing', 'return_reason_code');
  expect(await again(await newest())).toMatchObject({ problem: null, kind: 'nacha', reports: 1 });
  const said = [{ type: 'confirmed' }, { type: 'unreadable' }, { type: 'returned' }];
  expect(await world.feed()).toMatchObject(said);
  expect(await again(await newest())).toMatchObject({ problem: null, reports: 0 });
  expect(await world.feed()).toMatchObject(said);
  const files = await fileArchive(world).list({ paymentId: instruction.paymentId, max: 9 });
  expect(files.map(({ way, kind }) => `${way} ${kind}`)).toEqual([
    'in nacha',
    'in ack',
    'out nacha',
  ]);
});

it('a return that matched nothing is told when its entry is there again', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  const trace = await world.traceOf(instruction);
  const rename = (to: string) => world.pool.query('UPDATE ach_entries SET trace_number = $1', [to]);
  await rename('021000029999999');
  await world.desk.postReturns([trace], 'R01');
  await world.settle();
  expect(await again(await newest())).toMatchObject({ reports: 0 });
  await rename(trace);
  expect(await again(await newest())).toMatchObject({ reports: 1 });
  expect(await world.feed()).toMatchObject([
    { type: 'confirmed' },
    { reference: `ACH trace ${trace}` },
    { type: 'returned', reference: instruction.reference },
  ]);
});

it('a further return of the same entry is told, once', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  const trace = await world.traceOf(instruction);
  await world.desk.postReturns([trace, trace], 'R01');
  await world.settle();
  const column = (from: string, to: string) =>
    world.pool.query(`ALTER TABLE ach_entries RENAME COLUMN ${from} TO ${to}`);
  await column('returns_told', 'missing');
  await world.desk.postReturns([trace], 'R01');
  await world.bank.rounds.inbound();
  await column('missing', 'returns_told');
  expect(await again(await newest())).toMatchObject({ problem: null, reports: 1 });
  expect(await again(await newest())).toMatchObject({ problem: null, reports: 0 });
  const returns = (await world.feed()).filter(({ type }) => type === 'returned');
  expect(returns.map(({ reference }) => reference)).toEqual([
    instruction.reference,
    `ACH trace ${trace}`,
    `ACH trace ${trace}`,
  ]);
});

it('a return that an earlier release reported without its trace number is not told again', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  await world.pool.query("UPDATE ach_entries SET trace_number = '021000029999999'");
  await world.desk.postReturns([[...world.desk.executions.keys()][0] ?? ''], 'R01');
  await world.settle();
  await world.pool.query('UPDATE ach_feed SET return_reference = NULL');
  expect(await again(await newest())).toMatchObject({ problem: null, reports: 0 });
  expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
});

it('a notification of change is not told a second time', async () => {
  const instruction = await world.submit('4321');
  await world.settle();
  const trace = await world.traceOf(instruction);
  await world.desk.postCorrection(trace, 'C01', { accountNumber: '1918171614' });
  await world.settle();
  expect(await again(await newest())).toMatchObject({ problem: null, reports: 0 });
  expect((await world.feed()).map(({ type }) => type)).toEqual(['confirmed', 'corrected']);
});

it('a rejection that was not believed is, once staff know that the file came once', async () => {
  const instruction = await world.unacknowledged();
  await world.pool.query(
    "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
  );
  await world.bank.rounds.outbound();
  const { name, sha256 } = world.desk.upload();
  world.desk.postAck({ name, sha256, status: 'rejected', code: 'LIMIT_EXCEEDED' });
  await world.bank.rounds.inbound();
  const id = await newest();
  expect(await again(id)).toMatchObject({ reports: 0 });
  await world.pool.query('UPDATE ach_files SET upload_attempts = 1');
  expect(await again(id)).toMatchObject({ reports: 1 });
  expect(await again(id)).toMatchObject({ reports: 0 });
  expect(await world.feed()).toMatchObject([
    { type: 'unreadable', reference: `ACH file ${name}` },
    { type: 'rejected', reference: instruction.reference },
  ]);
});

it('what cannot be applied is refused, and changes nothing', async () => {
  const instruction = await world.submit('0101');
  await world.settle();
  const archive = fileArchive(world);
  const files = await archive.list({ max: 9 });
  const idOf = (way: string, kind: string) =>
    files.find((file) => file.way === way && file.kind === kind)?.id ?? '';
  world.desk.post('junk.txt', Buffer.from('hello'));
  await world.settle();
  const feed = await world.feed();
  expect(await again(randomUUID())).toMatchObject({ problem: 'missing' });
  expect(await again(idOf('out', 'nacha'))).toMatchObject({ problem: 'not inbound ACH' });
  expect(await again(await newest())).toMatchObject({ problem: 'unreadable' });
  await world.keyring.destroy([ownerOf.contact(instruction.contactId)]);
  expect(await again(idOf('in', 'nacha'))).toMatchObject({ problem: 'erased' });
  expect(await world.feed()).toEqual(feed);
});
