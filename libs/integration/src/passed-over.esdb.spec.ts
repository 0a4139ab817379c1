/** As passed-over.pg.spec.ts, with the log in EventStoreDB beside the events of other systems. */
import { randomUUID } from 'node:crypto';
import { anchorAt, type EventStore } from '@pis/event-store';
import { eventStoreDbEventStore } from '@pis/event-store/eventstoredb';
import { startEventStoreDbStandIn } from '@pis/event-store/testing';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { pgConsumerState } from '@pis/messaging';
import { readPlace } from '@pis/read-models';
import { laterPrefixesOf, relayGroup } from './consumer-groups.js';
import { integrationFeeds } from './integration-feed.js';
import { filledTopics } from './public-facts.js';
import {
  generatedIn,
  openPaymentLog,
  paymentStream,
  queuedIn,
  statementStream,
} from './testing.js';

const timeoutMs = 20_000;
const atEnd = closeAfterEach();

it('a reader that dies goes on with the page that it has not saved, and delivers all statements that the previous release passed over', async () => {
  const server = await startEventStoreDbStandIn();
  atEnd(() => server.stop());
  const store: EventStore = eventStoreDbEventStore({
    connectionString: server.url,
    pageEventsMax: 1,
  });
  atEnd(() => store.close());
  const log = await openPaymentLog(store);
  atEnd(() => log.close());
  const { pool } = log;
  const ofOthers = () => server.write('other-1', { id: randomUUID(), type: 'Other', data: '{}' });
  const state = pgConsumerState(pool, {
    anchorAt: (position) => anchorAt(store, position),
    laterPrefixesOf,
  });

  /** Takes and saves pages until they are enough. @returns the streams of the messages */
  const read = async (isEnough: (taken: readonly string[]) => boolean | Promise<boolean>) => {
    const ending = new AbortController();
    const limits = { pageMax: 1 };
    const feed = integrationFeeds({ store, pool, onHeld: () => undefined, limits })(relayGroup);
    const after = await state.loadCheckpoint(relayGroup);
    const taken: string[] = [];
    const { signal } = ending;
    for await (const page of feed.subscribe({ after, topics: filledTopics, signal })) {
      taken.push(...page.messages.map(({ key }) => key));
      if (await isEnough(taken)) break;
      await state.saveCheckpoint(relayGroup, page.position, page.eventId, page.kindsRead);
    }
    ending.abort();
    return taken;
  };
  const pay = async () => {
    const streamId = paymentStream('a');
    await log.append(streamId, queuedIn(streamId));
    return streamId;
  };

  await ofOthers();
  const payments = [await pay(), await pay()];
  expect(await read((taken) => taken.length === 2)).toEqual(payments);
  const missed = Array.from({ length: 4 }, statementStream);
  for (const streamId of missed) {
    await log.append(streamId, generatedIn(streamId));
    await ofOthers();
  }
  const end = await anchorAt(store, await store.lastPosition());
  await pool.query(
    `UPDATE consumer_checkpoints SET position = $2, event_id = $3, stream_id = $4, revision = $5
      WHERE consumer_group = $1`,
    [relayGroup, end?.position, end?.eventId, end?.streamId, end?.revision],
  );
  const last = await pay();
  expect(await read((taken) => taken.length === 3)).toEqual(missed.slice(0, 3));
  expect(await read((taken) => taken.at(-1) === last)).toEqual([...missed.slice(2), last]);
  const isRead = async () =>
    (await readPlace(pool, relayGroup)).kindsRead['statement-'] === end?.position;
  await until(isRead, { timeoutMs });
});
