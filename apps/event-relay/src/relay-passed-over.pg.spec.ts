/** The relay makes up for statements that a relay of an earlier release has passed over, and the database goes away meanwhile. */
import { anchorAt } from '@pis/event-store';
import { filledTopics, integrationFeeds, laterPrefixesOf, relayGroup } from '@pis/integration';
import {
  generatedIn,
  openPaymentLog,
  paymentStream,
  queuedIn,
  statementStream,
} from '@pis/integration/testing';
import { closeAfterEach, openTestPool, tcpProxy, until } from '@pis/local-servers/testing';
import { type Message, pgConsumerState } from '@pis/messaging';
import { Bell } from '@pis/postgres';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { Relay } from './relay.js';

const timeoutMs = 20_000;
const logger = createLogger('event-relay-spec', 'silent');
const atEnd = closeAfterEach();

it('publishes all that was passed over although the database goes away in between and comes back, and again only what it has not saved', async () => {
  const log = await openPaymentLog();
  atEnd(() => log.close());
  const { store } = log;
  const server = await tcpProxy(log.pool.options.connectionString ?? '');
  atEnd(() => server.close());
  const pool = openTestPool(server.url, 5);
  atEnd(() => pool.end());

  const published: string[] = [];
  const start = (db: pg.Pool, onPublished: () => void = () => undefined) => {
    const onHeld = () => undefined;
    const relay = new Relay({
      feed: integrationFeeds({ store, pool: db, onHeld, limits: { pageMax: 1 } })(relayGroup),
      topics: filledTopics,
      publisher: {
        publish: (messages: readonly Message[]) => {
          published.push(...messages.map(({ key }) => key));
          onPublished();
          return Promise.resolve();
        },
        ping: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
      state: pgConsumerState(db, {
        anchorAt: (position) => anchorAt(store, position),
        laterPrefixesOf,
        transport: 'kafka',
      }),
      pool: db,
      wakeUp: { bell: new Bell(), idleMs: () => 5 },
      logger,
      published: () => undefined,
    });
    atEnd(() => relay.stop());
    relay.start();
    return relay;
  };
  const saved = async () => {
    const { rows } = await log.pool.query<{ position: string; statements: string | null }>(
      `SELECT position, kinds_read->>'statement-' AS statements FROM consumer_checkpoints
        WHERE consumer_group = $1`,
      [relayGroup],
    );
    return rows[0];
  };

  const payment = paymentStream('a');
  await log.append(payment, queuedIn(payment));
  const first = start(log.pool);
  await until(async () => (await saved())?.position === (await store.lastPosition()), {
    timeoutMs,
  });
  await first.stop();
  const missed = Array.from({ length: 5 }, statementStream);
  for (const streamId of missed) await log.append(streamId, generatedIn(streamId));
  const end = await store.lastPosition();
  const last = await store.lastEvent(end);
  await log.pool.query(
    `UPDATE consumer_checkpoints SET position = $2, event_id = $3, stream_id = $4, revision = $5
      WHERE consumer_group = $1`,
    [relayGroup, end, last?.id, last?.streamId, last?.revision],
  );

  const relay = start(pool, () => {
    if (published.length === 4) server.goAway();
  });
  await until(() => published.length >= 4 && !relay.isPublishing, { timeoutMs });
  server.comeBack();
  await until(async () => (await saved())?.statements === end, { timeoutMs });
  expect(published).toEqual([payment, ...missed.slice(0, 3), ...missed.slice(2)]);
});
