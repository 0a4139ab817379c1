/** The normal time of ACH begins when the file goes out: over a weekend that is days after the payment was submitted. */
import { atOnceSchedule } from '@pis/bank-rails/ach';
import { pauseConnections, resumeConnection } from '@pis/bank-rails/connections';
import type { RailExecutorOptions } from './rail-executor.js';
import { type Formats, openFormats } from './testing/formats.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';

const hourMs = 3_600_000;
const normalTimeMs = 48 * hourMs;
/** From Friday evening, just after the cutoff, to that of Monday. */
const weekendMs = 72 * hourMs;

let world: World;
let formats: Formats;
beforeEach(async () => {
  world = await openWorld();
  const schedule = atOnceSchedule();
  formats = await openFormats(world, { ...schedule, buildAt: (_, atMs) => atMs + weekendMs });
});
afterEach(async () => {
  await formats.close();
  await world.close();
});

const executor = (changes: Partial<RailExecutorOptions> = {}) =>
  world.executor({
    banks: formats.banks,
    config: { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: normalTimeMs },
    ...changes,
  });
const handle = ({ value, delivery }: QueuedMessage) => executor().handle(value, delivery);

/** The deadlines that are due so long after the submission, by both clocks. */
async function deadlinesAfter(ms: number): Promise<void> {
  const clock = () => Date.now() + ms;
  await using ahead = await world.poolWithClockAhead(`${ms} milliseconds`);
  // Twice: what was postponed must not be due again at once.
  for (let times = 0; times < 2; times += 1)
    await executor({ clock, pool: ahead.pool }).deadlineRound();
}

it('a payment that waits for the file of Monday is in time until the normal time after that', async () => {
  const message = await world.queue('4321', 'INBOUND');
  await handle(message);
  await formats.exchangeFiles();
  for (const ms of [normalTimeMs + hourMs, weekendMs + normalTimeMs - hourMs])
    await deadlinesAfter(ms);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  await deadlinesAfter(weekendMs + normalTimeMs + hourMs);
  expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
});

it('a payment that is submitted a last time at its deadline waits for its file like any other', async () => {
  const message = await world.queue('4321', 'INBOUND');
  const banks = formats.banks.map((bank) => ({
    ...bank,
    connection: { ...bank.connection, submit: () => Promise.reject(new Error('killed')) },
  }));
  const { value, delivery } = message;
  await executor({ banks }).handle(value, delivery);
  await world.pool.query("UPDATE rail_pending SET overdue_at = now() - interval '1 second'");
  const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
  await executor({ config }).deadlineRound();
  expect(await world.count("ach_entries WHERE status = 'waiting'")).toBe(1);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
});

it('a payment whose entry leaves after a pause is not FAILED before, however often the bank is asked', async () => {
  const { paymentId, ...message } = await world.queue('4321', 'INBOUND');
  await handle({ paymentId, ...message });
  const connection = 'files';
  await pauseConnections(world.pool, { connection, reason: 'by hand', isRestored: false });
  await deadlinesAfter(weekendMs + normalTimeMs + hourMs);
  const inFlight = ['Queued', 'Processing', 'FailedInFlight'];
  // Until the bank would have forgotten it.
  for (const days of [4, 30, 100]) {
    const ms = days * 24 * hourMs;
    await using ahead = await world.poolWithClockAhead(`${ms} milliseconds`);
    await world.timePasses(paymentId);
    await executor({ clock: () => Date.now() + ms, pool: ahead.pool }).sweepRound();
    expect(await world.history(paymentId)).toEqual(inFlight);
  }
  expect(await world.count("ach_entries WHERE status = 'waiting'")).toBe(1);
  await resumeConnection(world.pool, connection);
  await world.pool.query("UPDATE ach_entries SET due_at = now() - interval '1 second'");
  await formats.exchangeFiles();
  await executor().feedRound();
  expect(await world.history(paymentId)).toEqual([...inFlight, 'Completed']);
  expect(await formats.executions()).toBe(1);
});
