/** Staff are told of payments in doubt, over a real mail server and a real HTTPS server. */
import { randomUUID } from 'node:crypto';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import type { RailExecutor } from '../rail-executor.js';
import { type SmtpServer, startSmtpServer } from '../testing/smtp-server.js';
import { openWorld, type World } from '../testing/world.js';
import { staffChannels } from './staff-channels.js';
import type { Digest, StaffChannel } from './staff-digests.js';
import { StaffNotices } from './staff-notices.js';

let world: World;
let smtp: SmtpServer;
let chat: HttpsReceiver;
let channels: readonly StaffChannel[];
/** How many addresses the mail server did not take, of each digest. */
let missed: number[];
beforeEach(async () => {
  missed = [];
  world = await openWorld();
  smtp = await startSmtpServer();
  chat = await startHttpsReceiver();
  channels = staffChannels(
    {
      PIS_STAFF_EMAILS: ['ops@example.com', 'duty@example.com'],
      PIS_SMTP_URL: smtp.url,
      PIS_STAFF_WEBHOOK_URL: `${chat.url}/hooks/secret-token`,
    },
    { ca: chat.caPem, onMissed: (addresses) => missed.push(addresses) },
  );
});
afterEach(async () => {
  await chat.close();
  await smtp.close();
  await world.close();
});

async function inFlight(executor: RailExecutor, ending = '0401'): Promise<string> {
  const { paymentId, value, delivery } = await world.queue(ending);
  await executor.handle(value, delivery);
  await world.timePasses(paymentId);
  await executor.deadlineRound();
  expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  return paymentId;
}

const noticesOn = (pool = world.pool) => new StaffNotices(pool, ['email', 'webhook']);
const followLog = () => world.followLog({ notices: noticesOn() });
const timePasses = () =>
  world.pool.query(
    `UPDATE rail_staff_channels SET next_at = now() - make_interval(secs => 1), leased_until = NULL`,
  );
const posted = () => chat.requests.map(({ body }) => JSON.parse(body) as Digest);

it('a payment in doubt is told by mail and to the chat, without personal data', async () => {
  const executor = world.executor({ staff: channels });
  const paymentId = await inFlight(executor);
  await followLog();
  await executor.staffRound();
  expect(smtp.mails).toMatchObject([
    { from: 'pis@127.0.0.1', to: ['ops@example.com', 'duty@example.com'] },
  ]);
  expect(smtp.mails[0]?.content).toContain('Subject: 1 payment in doubt');
  expect(smtp.mails[0]?.content).toContain(paymentId);
  expect(posted()).toMatchObject([
    {
      text: expect.stringContaining(`${paymentId}: 123.45 USD, OUTBOUND, ACH`) as string,
      payments: [
        { paymentId, kind: 'in_flight', status: 'FAILED_IN_FLIGHT', paymentAmount: 12_345 },
      ],
      more: 0,
    },
  ]);
  const told = `${smtp.mails[0]?.content ?? ''} ${chat.requests[0]?.body ?? ''}`;
  for (const personal of ['Ada', 'Lovelace', 'Acme', '5566778', '011000138'])
    expect(told).not.toContain(personal);
});

it('a late rejection is told, too', async () => {
  const executor = world.executor({ staff: channels });
  const paymentId = await inFlight(executor);
  const rejection = {
    failureCode: 'INTERNAL_ERROR' as const,
    field: null,
    message: 'Create a new payment.',
    reason: 'Rejected.',
    railCode: 'AC04',
  };
  const inquire = () => Promise.resolve({ outcome: 'error', rejection } as const);
  await world.timePasses(paymentId);
  await world.executor({ bank: { ...world.bank, inquire } }).sweepRound();
  await followLog();
  await executor.staffRound();
  expect(posted()[0]?.payments.map(({ kind }) => kind)).toEqual(['in_flight', 'rejected_late']);
});

it('a payment that the bank has forgotten is told once more, and the bank is not asked again', async () => {
  const executor = world.executor({ staff: channels });
  const paymentId = await inFlight(executor);
  await world.timePasses(paymentId);
  let inquiries = 0;
  const inquire = (reference: string) => {
    inquiries += 1;
    return world.bank.inquire(reference);
  };
  const { referenceMemoryMs } = world.bank.terms;
  const sweepAfter = async (ms: number) => {
    await using ahead = await world.poolWithClockAhead(`${ms} milliseconds`);
    const { pool } = ahead;
    const [bank, clock] = [{ ...world.bank, inquire }, () => Date.now() + ms];
    await world.executor({ staff: channels, bank, clock, pool }).sweepRound();
  };
  await sweepAfter(referenceMemoryMs - 3_600_000);
  expect(inquiries).toBe(1);
  await world.timePasses(paymentId);
  await sweepAfter(referenceMemoryMs + 3_600_000);
  await world.timePasses(paymentId);
  await sweepAfter(referenceMemoryMs + 3_600_000);
  expect(inquiries).toBe(1);
  expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  await executor.staffRound();
  expect(posted()[0]?.payments.map(({ kind }) => kind)).toEqual(['unanswered']);
});

it('many payments are one digest, and the next one waits for its pause', async () => {
  const executor = world.executor({ staff: channels });
  const first = await inFlight(executor);
  await followLog();
  await executor.staffRound();
  const others = [await inFlight(executor), await inFlight(executor)];
  await followLog();
  await executor.staffRound();
  expect(smtp.mails).toHaveLength(1);
  expect(posted().map(({ payments }) => payments.length)).toEqual([1]);
  await timePasses();
  await executor.staffRound();
  expect(smtp.mails).toHaveLength(2);
  expect(posted()[1]?.payments.map(({ paymentId }) => paymentId)).toEqual(others);
  expect(smtp.mails[1]?.content).not.toContain(first);
});

it('a payment that cannot be read is told as such, and keeps staff from no other', async () => {
  const executor = world.executor({ staff: channels });
  const unreadable = await inFlight(executor);
  const other = await inFlight(executor);
  await followLog();
  const streamId = `payment-${unreadable}`;
  const last = (await world.store.readStream(streamId)).at(-1);
  if (last === undefined) throw new Error('no event');
  const later = { id: randomUUID(), type: 'PaymentOfLater', data: {}, metadata: last.metadata };
  await world.store.append(streamId, last.revision, [later]);
  await world.executor({ staff: channels }).staffRound();
  expect(posted()).toMatchObject([
    {
      text: expect.stringContaining('now unknown, because it cannot be read') as string,
      payments: [
        { paymentId: unreadable, status: null },
        { paymentId: other, status: 'FAILED_IN_FLIGHT' },
      ],
    },
  ]);
  expect(smtp.mails).toHaveLength(1);
});

it('a digest lists some and counts the rest', async () => {
  const executor = world.executor({ staff: channels });
  await inFlight(executor);
  await followLog();
  await world.pool.query(
    `INSERT INTO rail_staff_notices (channel, payment_id, kind, at)
     SELECT 'webhook', gen_random_uuid(), 'in_flight', now() FROM generate_series(1, 120)`,
  );
  await executor.staffRound();
  expect(posted()).toMatchObject([{ subject: '121 payments in doubt', more: 71 }]);
});

it('what could not be sent is sent later, over each channel apart, without its secrets in the log', async () => {
  const executor = world.executor({ staff: channels });
  await inFlight(executor);
  await followLog();
  smtp.refuse = 451;
  chat.respondWith(() => ({ status: 500 }));
  await executor.staffRound();
  expect(smtp.mails).toEqual([]);
  expect(await executor.staffFailures()).toEqual({ email: 1, webhook: 1 });
  expect(await world.executor().staffFailures()).toEqual({ email: 0, webhook: 0 });
  await executor.staffRound();
  expect(chat.requests).toHaveLength(1);
  smtp.refuse = null;
  await timePasses();
  await executor.staffRound();
  expect(smtp.mails).toHaveLength(1);
  chat.respondWith(() => ({ status: 204 }));
  await timePasses();
  await executor.staffRound();
  expect(chat.requests).toHaveLength(3);
  await timePasses();
  await executor.staffRound();
  expect([smtp.mails.length, chat.requests.length]).toEqual([1, 3]);
  expect(await executor.staffFailures()).toEqual({ email: 0, webhook: 0 });
  expect(world.logger.lines.join()).toContain('staff could not be told');
  expect(world.logger.lines.join()).not.toContain('secret-token');
});

it('an address that the mail server refuses repeats no digest to the others', async () => {
  const executor = world.executor({ staff: channels });
  await inFlight(executor);
  await followLog();
  smtp.unknown = 'duty@example.com';
  await executor.staffRound();
  for (let round = 0; round < 2; round += 1) {
    await timePasses();
    await executor.staffRound();
  }
  expect(smtp.mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
  expect(missed).toEqual([1]);
});

it('an address that the mail server refuses for a time gets the digest later, and the others get it once', async () => {
  const executor = world.executor({ staff: channels });
  const first = await inFlight(executor);
  await followLog();
  smtp.deferred = 'duty@example.com';
  for (let round = 0; round < 2; round += 1) {
    await executor.staffRound();
    await timePasses();
  }
  expect(world.logger.lines.join()).toContain('staff could not be told');
  smtp.deferred = null;
  const second = await inFlight(executor);
  await followLog();
  for (let round = 0; round < 2; round += 1) {
    await executor.staffRound();
    await timePasses();
  }
  const told = smtp.mails.map(({ to, content }) => ({
    to,
    about: [first, second].filter((paymentId) => content.includes(paymentId)),
  }));
  const [ops, duty] = ['ops@example.com', 'duty@example.com'];
  expect(told).toHaveLength(3);
  expect(told).toEqual(
    expect.arrayContaining([
      { to: [ops], about: [first] },
      { to: [duty], about: [first] },
      { to: [ops, duty], about: [second] },
    ]),
  );
  expect(missed).toEqual([]);
});

it('an address that is refused for good after a time is not tried again', async () => {
  const executor = world.executor({ staff: channels });
  await inFlight(executor);
  await followLog();
  smtp.deferred = 'duty@example.com';
  await executor.staffRound();
  smtp.unknown = 'duty@example.com';
  for (let round = 0; round < 3; round += 1) {
    await timePasses();
    await executor.staffRound();
  }
  expect(smtp.mails.map(({ to }) => to)).toEqual([['ops@example.com']]);
  expect(missed).toEqual([1]);
});

it('a digest that the mail server takes for nobody is sent again', async () => {
  const [email] = staffChannels({
    PIS_STAFF_EMAILS: ['duty@example.com'],
    PIS_SMTP_URL: smtp.url,
  });
  const executor = world.executor({ staff: email === undefined ? [] : [email] });
  await inFlight(executor);
  await world.followLog({ notices: new StaffNotices(world.pool, ['email']) });
  smtp.unknown = 'duty@example.com';
  await executor.staffRound();
  expect(smtp.mails).toEqual([]);
  smtp.unknown = null;
  await timePasses();
  await executor.staffRound();
  expect(smtp.mails.map(({ to }) => to)).toEqual([['duty@example.com']]);
});

it('an executor that dies loses nothing and repeats a digest once', async () => {
  const dying = world.executor({
    staff: channels.map((channel) => ({
      name: channel.name,
      send: async (digest: Digest) => {
        await channel.send(digest);
        // It never notes that the digest was sent.
        return new Promise<never>(() => undefined);
      },
    })),
  });
  await inFlight(dying);
  await followLog();
  void dying.staffRound();
  await chat.waitFor(() => true);
  const successor = world.executor({ staff: channels });
  await successor.staffRound();
  expect(chat.requests).toHaveLength(1);
  await timePasses();
  for (let times = 0; times < 3; times += 1) {
    await successor.staffRound();
    await timePasses();
  }
  expect(chat.requests).toHaveLength(2);
});

it('a log that is read again tells nobody twice, and nothing of long ago', async () => {
  const executor = world.executor({ staff: channels });
  const paymentId = await inFlight(executor);
  for (let times = 0; times < 2; times += 1) {
    await world.pool.query('DELETE FROM rail_log_place');
    await followLog();
    await executor.staffRound();
    await timePasses();
  }
  expect(chat.requests).toHaveLength(1);
  const events = await world.store.readStream(`payment-${paymentId}`);
  const old = events.map((event) => ({
    ...event,
    streamId: 'payment-9c5b94b1-35ad-49bb-b118-8e8fc24abf80',
    metadata: { ...event.metadata, at: '2020-01-01T00:00:00.000Z' },
  }));
  await noticesOn().note(old);
  // A name that is no payment's must not stop the reader.
  await noticesOn().note(events.map((event) => ({ ...event, streamId: 'payment-x' })));
  expect(await world.count('rail_staff_notices')).toBe(2);
});

it('nothing is stored when nobody is to be told', async () => {
  const executor = world.executor();
  await inFlight(executor);
  await world.followLog();
  expect(await world.count('rail_staff_notices')).toBe(0);
});
