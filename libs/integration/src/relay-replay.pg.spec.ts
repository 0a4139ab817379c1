import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { paymentEvents } from '@pis/domain/testing';
import { MessageRefused } from '@pis/messaging';
import { type ReplayProgress, type ReplayRange, replayRange } from './relay-replay.js';
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
let published: string[];
/** The topics that were published into. */
let into: Set<string>;

beforeEach(async () => {
  log = await openPaymentLog();
  published = [];
  into = new Set();
});
afterEach(() => log.close());

async function skip(streamId: string, revision: number): Promise<void> {
  await log.pool.query(
    `INSERT INTO skipped_events (event_id, stream_id, event_type, actor) VALUES ($1, $2, 'x', 'ada')`,
    [await log.idOf(streamId, revision), streamId],
  );
}

function replay({
  after = '',
  to = '',
  refuses = '',
  ...more
}: { after?: string; to?: string; refuses?: string } & Pick<
  Partial<ReplayRange>,
  'into' | 'onPage'
> = {}) {
  return log.store.lastPosition().then((end) =>
    replayRange(log, { after, to: to || end, topics: [topic], ...more }, (messages) => {
      for (const message of messages) {
        if (labelOf(message) === refuses)
          return Promise.reject(new MessageRefused(message, new Error('too large')));
        published.push(labelOf(message));
        into.add(message.topic);
      }
      return Promise.resolve();
    }),
  );
}

it('leaves out an unreadable event and all later events of its stream, but only the event itself if it was skipped', async () => {
  await log.append(unreadable, queuedIn(unreadable), unknownEvent, completed);
  await log.append(skipping, queuedIn(skipping), unknownEvent, processing);
  await skip(skipping, 1);
  await log.append(good, queuedIn(good));
  expect(await replay()).toEqual({ published: 4, skipped: 1, heldStreams: 1, heldEvents: 2 });
  expect(published).toEqual([
    'a payment.queued',
    'b payment.queued',
    'b payment.processing',
    'c payment.queued',
  ]);
});

it('leaves out the streams that the relay holds back, also when the replay begins after the cause', async () => {
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
  expect(published).toEqual(['b payment.queued']);
});

it('leaves out a message that Kafka refuses and the later ones of its stream, but only the message itself if it was skipped', async () => {
  await log.append(good, queuedIn(good), processing, completed);
  await log.append(skipping, queuedIn(skipping));
  const refuses = 'c payment.processing';
  expect(await replay({ refuses })).toMatchObject({ published: 2, heldStreams: 1, heldEvents: 2 });
  expect(published).toEqual(['c payment.queued', 'b payment.queued']);
  published = [];
  await skip(good, 1);
  expect(await replay({ refuses })).toMatchObject({ published: 3, skipped: 1, heldStreams: 0 });
  expect(published).toEqual(['c payment.queued', 'c payment.completed', 'b payment.queued']);
});

it('publishes the events after --from, up to and including --to, and ends even if other events come last', async () => {
  await log.append(good, queuedIn(good));
  const after = await log.store.lastPosition();
  await log.append(good, processing);
  const to = await log.store.lastPosition();
  await log.append(good, completed);
  await replay({ after, to });
  expect(published).toEqual(['c payment.processing']);
  await log.append(`contact-${randomUUID()}`, unknownEvent);
  expect(await replay()).toMatchObject({ published: 3, heldStreams: 0 });
});

it('publishes a range into another topic, and tells after each page what is durable', async () => {
  await log.append(good, queuedIn(good), processing, completed);
  const end = await log.store.lastPosition();
  const pages: ReplayProgress[] = [];
  await replay({ into: 'history', onPage: (progress) => pages.push(progress) });
  expect(into).toEqual(new Set(['history']));
  expect(pages).toEqual([{ published: 3, position: end }]);
  // The part that is missing after a failure is what follows a page.
  const [, second] = await log.store.readStream(good);
  published = [];
  await replay({ into: 'history', after: second?.position ?? '' });
  expect(published).toEqual(['c payment.completed']);
});
