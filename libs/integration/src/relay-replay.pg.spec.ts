import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { paymentEvents } from '@pis/domain/testing';
import { MessageRefused } from '@pis/messaging';
import { replayRange } from './relay-replay.js';
import {
  labelOf,
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
  unknownEvent,
} from './testing.js';

const topic = topics.payments;
const { processing, completed } = paymentEvents;
const unreadable = paymentStream('a');
const skipping = paymentStream('b');
const good = paymentStream('c');

let log: PaymentLog;
let told: string[];

beforeEach(async () => {
  log = await openPaymentLog();
  told = [];
});
afterEach(() => log.close());

async function skip(streamId: string, revision: number): Promise<void> {
  await log.pool.query(
    `INSERT INTO skipped_events (event_id, stream_id, event_type, actor) VALUES ($1, $2, 'x', 'ada')`,
    [await log.idOf(streamId, revision), streamId],
  );
}

function replay({ after = '', to = '', refuses = '' } = {}) {
  return log.store.lastPosition().then((end) =>
    replayRange(log, { after, to: to || end, topic }, (messages) => {
      for (const message of messages) {
        if (labelOf(message) === refuses)
          return Promise.reject(new MessageRefused(message, new Error('too large')));
        told.push(labelOf(message));
      }
      return Promise.resolve();
    }),
  );
}

it('leaves out an unreadable event with what follows it in its stream, and a skipped event alone', async () => {
  await log.append(unreadable, queuedIn(unreadable), unknownEvent, completed);
  await log.append(skipping, queuedIn(skipping), unknownEvent, processing);
  await skip(skipping, 1);
  await log.append(good, queuedIn(good));
  expect(await replay()).toEqual({ published: 4, skipped: 1, heldStreams: 1, heldEvents: 2 });
  expect(told).toEqual([
    'a payment.queued',
    'b payment.queued',
    'b payment.processing',
    'c payment.queued',
  ]);
});

it('leaves out what the relay holds back, also when the replay begins behind the cause', async () => {
  await log.append(good, queuedIn(good), processing);
  const after = await log.store.lastPosition();
  await log.append(good, completed);
  await log.append(skipping, queuedIn(skipping));
  await log.pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason)
     VALUES ('event-relay', $1, 1, '1', $2, 'PaymentProcessing', 'Kafka refused it')`,
    [good, randomUUID()],
  );
  const report = await replay({ after });
  expect(report).toEqual({ published: 1, skipped: 0, heldStreams: 1, heldEvents: 1 });
  expect(told).toEqual(['b payment.queued']);
});

it('leaves out a message that Kafka refuses with what follows it, or alone if it was skipped', async () => {
  await log.append(good, queuedIn(good), processing, completed);
  await log.append(skipping, queuedIn(skipping));
  const refuses = 'c payment.processing';
  expect(await replay({ refuses })).toMatchObject({ published: 2, heldStreams: 1, heldEvents: 2 });
  expect(told).toEqual(['c payment.queued', 'b payment.queued']);
  told = [];
  await skip(good, 1);
  expect(await replay({ refuses })).toMatchObject({ published: 3, skipped: 1, heldStreams: 0 });
  expect(told).toEqual(['c payment.queued', 'c payment.completed', 'b payment.queued']);
});

it('publishes what follows --from, up to and with --to, and ends although other events come last', async () => {
  await log.append(good, queuedIn(good));
  const after = await log.store.lastPosition();
  await log.append(good, processing);
  const to = await log.store.lastPosition();
  await log.append(good, completed);
  await replay({ after, to });
  expect(told).toEqual(['c payment.processing']);
  await log.append(`contact-${randomUUID()}`, unknownEvent);
  expect(await replay()).toMatchObject({ published: 3, heldStreams: 0 });
});
