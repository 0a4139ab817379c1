/** A message that Kafka refuses for good, on its way from the log through the relay. */
import { paymentEvents } from '@pis/domain/testing';
import { filledTopics, integrationFeeds } from '@pis/integration';
import {
  labelOf,
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
} from '@pis/integration/testing';
import { until } from '@pis/local-servers/testing';
import { type Message, MessageRefused, pgConsumerState } from '@pis/messaging';
import { Bell } from '@pis/postgres';
import { createLogger } from '@pis/service-kit';
import { Relay } from './relay.js';

const timeoutMs = 20_000;
const group = 'event-relay';
const { processing, completed } = paymentEvents;
const bad = paymentStream('a');
const good = paymentStream('b');

let log: PaymentLog;
/** The messages on the broker, in order. */
let published: string[];
/** How often the broker refused a message. */
let refusals: number;
let refuses: (text: string) => boolean;
let relays: Relay[];

beforeEach(async () => {
  log = await openPaymentLog();
  published = [];
  refusals = 0;
  refuses = (text) => text === 'a payment.processing';
  relays = [];
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await log.close();
});

/** Like the Kafka publisher: all messages before the refused one are published. */
function publish(messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    const text = labelOf(message);
    if (refuses(text)) {
      refusals += 1;
      return Promise.reject(new MessageRefused(message, new Error('too large')));
    }
    published.push(text);
  }
  return Promise.resolve();
}

function start(): Relay {
  const { store, pool } = log;
  const feedOf = integrationFeeds({
    store,
    pool,
    onHeld: () => undefined,
    limits: { releaseEveryMs: 20 },
  });
  const relay = new Relay({
    feed: feedOf(group),
    topics: filledTopics,
    publisher: { publish, ping: () => Promise.resolve(), close: () => Promise.resolve() },
    state: pgConsumerState(pool, { transport: 'kafka' }),
    pool,
    wakeUp: { bell: new Bell(), idleMs: () => 5 },
    logger: createLogger('relay-refused-spec', 'silent'),
    published: () => undefined,
  });
  relays.push(relay);
  relay.start();
  return relay;
}

const publishedOf = (name: string) => published.filter((text) => text.startsWith(name));

/** What `pis quarantine list` shows. */
async function held(): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await log.pool.query<Record<string, unknown>>(
    `SELECT reader, stream_id AS "streamId", event_type AS "eventType", reason FROM quarantined_streams`,
  );
  return rows;
}

async function writeBoth(): Promise<void> {
  await log.append(bad, queuedIn(bad), processing);
  await log.append(good, queuedIn(good), processing);
  await log.append(bad, completed);
  await log.append(good, completed);
}

it('holds back only the payment of a message that Kafka refuses', async () => {
  await writeBoth();
  const relay = start();
  await until(() => published.includes('b payment.completed'), { timeoutMs });
  // It is tried again, and the messages before it are not published again.
  await until(() => refusals > 3, { timeoutMs });
  await relay.check();
  expect(publishedOf('a')).toEqual(['a payment.queued']);
  expect(publishedOf('b')).toEqual([
    'b payment.queued',
    'b payment.processing',
    'b payment.completed',
  ]);
  expect(await held()).toMatchObject([
    {
      reader: group,
      streamId: bad,
      eventType: 'PaymentProcessing',
      reason: expect.stringContaining('Kafka refused it: Error: too large'),
    },
  ]);
});

it('publishes the held-back messages once and in order when Kafka accepts them', async () => {
  await writeBoth();
  start();
  await until(async () => (await held()).length > 0, { timeoutMs });
  refuses = () => false;
  await until(() => published.includes('a payment.completed'), { timeoutMs });
  expect(publishedOf('a')).toEqual([
    'a payment.queued',
    'a payment.processing',
    'a payment.completed',
  ]);
  await log.append(good, completed);
  await until(async () => (await held()).length === 0, { timeoutMs });
});

it('leaves out only the refused message when an operator skips it', async () => {
  await writeBoth();
  start();
  await until(async () => (await held()).length > 0, { timeoutMs });
  // Like `pis quarantine skip`.
  await log.pool.query(
    `INSERT INTO skipped_events (event_id, stream_id, event_type, actor)
     SELECT event_id, stream_id, event_type, 'ada' FROM quarantined_streams`,
  );
  await until(() => published.includes('a payment.completed'), { timeoutMs });
  expect(publishedOf('a')).toEqual(['a payment.queued', 'a payment.completed']);
});

it('still holds back the payment after a restart', async () => {
  await writeBoth();
  const first = start();
  await until(() => published.includes('b payment.completed'), { timeoutMs });
  await until(async () => (await pgConsumerState(log.pool).loadCheckpoint(group)) !== '', {
    timeoutMs,
  });
  await first.stop();
  const before = refusals;
  start();
  await until(() => refusals > before, { timeoutMs });
  refuses = () => false;
  await until(() => published.includes('a payment.completed'), { timeoutMs });
  expect(publishedOf('a').slice(-2)).toEqual(['a payment.processing', 'a payment.completed']);
});
