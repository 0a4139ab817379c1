/** How many files it takes to ask a bank that is stuck. */
import { setImmediate } from 'node:timers/promises';
import { openTestPool } from '@pis/local-servers/testing';
import { failingTransport } from '../../testing/ach-desk.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const hourMs = 3_600_000;
const inquiries = () => world.desk.uploads.filter(({ name }) => name.includes('INQUIRY'));

async function inFlight(count: number, ending = '0402') {
  const instructions = Array.from({ length: count }, () => instructionEnding(ending));
  await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
  await world.settle();
  return instructions;
}

it('a thousand payments in flight make one file, however often each is asked about', async () => {
  const instructions = await inFlight(1_000);
  const bank = world.open({ limits: { inquiryPauseMs: hourMs, inquiryFileEveryMs: hourMs } });
  for (let times = 0; times < 2; times += 1) {
    for (const { reference } of instructions)
      expect(await bank.inquire(reference)).toEqual({ outcome: 'received' });
    await bank.rounds.outbound();
    await bank.rounds.outbound();
  }
  expect(inquiries()).toHaveLength(1);
  expect(await world.count('rail_files', "kind = 'inquiry'")).toBe(1);
  await world.settle();
  expect(await world.feed()).toHaveLength(1_000);
});

it('a bank that cannot be reached leaves no file in the archive, and is asked when it is back', async () => {
  const [instruction] = await inFlight(1);
  const transport = failingTransport(world.desk.transport(), (call) => call === 'put');
  const bank = world.open({ transport });
  for (let times = 0; times < 5; times += 1) {
    await bank.inquire(instruction?.reference ?? '');
    await bank.rounds.outbound();
    await setImmediate();
  }
  expect(await world.count('rail_files', "kind = 'inquiry'")).toBe(0);
  await world.bank.inquire(instruction?.reference ?? '');
  await world.settle();
  expect(inquiries()).toHaveLength(1);
  expect(await world.feed()).toMatchObject([{ type: 'confirmed' }]);
});

it('two processes send one file in a pause', async () => {
  const instructions = await inFlight(10);
  const open = () => world.open({ limits: { inquiryFileEveryMs: hourMs } });
  for (const bank of [open(), open()]) {
    for (const { reference } of instructions) await bank.inquire(reference);
    await bank.rounds.outbound();
  }
  expect(inquiries()).toHaveLength(1);
});

it('an entry that is settled before the file goes is not asked about', async () => {
  const [settled, open] = await inFlight(2);
  for (const one of [settled, open]) await world.bank.inquire(one?.reference ?? '');
  await world.pool.query("UPDATE ach_entries SET status = 'accepted' WHERE reference = $1", [
    settled?.reference,
  ]);
  await world.bank.rounds.outbound();
  const text = Buffer.from(inquiries()[0]?.bytes ?? []).toString();
  expect(text.match(/"traceNumber"/g)).toHaveLength(1);
});

it('a file is listed for each payment that it asks about, and for no other one', async () => {
  const [first, second, other] = await inFlight(3);
  for (const one of [first, second]) await world.bank.inquire(one?.reference ?? '');
  await world.settle();
  const listed = async (instruction: typeof first) =>
    (await world.archive.list({ paymentId: instruction?.paymentId ?? '', max: 10 })).filter(
      ({ kind }) => kind === 'inquiry',
    );
  const [file] = await listed(first);
  expect(file).toMatchObject({ rail: 'ACH', way: 'out', name: inquiries()[0]?.name });
  expect(await listed(second)).toEqual([file]);
  expect(await listed(other)).toEqual([]);
  expect(await world.archive.bytes(file?.id ?? '')).toEqual(
    Buffer.from(inquiries()[0]?.bytes ?? []),
  );
});

it('the pause after a file is not longer because its time was rounded', async () => {
  const [instruction] = await inFlight(1);
  await world.pool.query('CREATE SCHEMA still');
  await world.pool.query(
    `CREATE FUNCTION still.clock_timestamp() RETURNS timestamptz LANGUAGE sql
     AS $$ SELECT '2026-11-30T12:00:00.0007Z'::timestamptz $$`,
  );
  const url = new URL(world.pool.options.connectionString ?? '');
  url.searchParams.set('options', '-c search_path=still,pg_catalog,public');
  const pool = openTestPool(url.href, 4);
  try {
    const bank = world.open({ pool });
    for (let files = 1; files <= 2; files += 1) {
      await bank.inquire(instruction?.reference ?? '');
      await bank.rounds.outbound();
      expect(inquiries()).toHaveLength(files);
    }
  } finally {
    await pool.end();
  }
});
