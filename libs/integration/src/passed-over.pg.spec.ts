/**
 * A reader of an earlier release moves a checkpoint past statements, which it does not follow: beside a process of this release,
 * or after a rollback.
 */
import { topics } from '@pis/contracts';
import { anchorAt, type Position, type RecordedEvent } from '@pis/event-store';
import { openTestPool, tcpProxy, until } from '@pis/local-servers/testing';
import {
  CheckpointMoved,
  EmbeddedConsumerStrategy,
  pgConsumerState,
  pgDeferredMessages,
} from '@pis/messaging';
import { readCheckpoints, readPlace } from '@pis/read-models';
import { consumerGroups, laterPrefixesOf, relayGroup, topicsOfGroup } from './consumer-groups.js';
import { integrationFeeds } from './integration-feed.js';
import {
  carryOverToRelay,
  exportCheckpoints,
  goBackToGroups,
  importCheckpoints,
  moveReaders,
  relayPlace,
} from './log-places.js';
import { filledTopics } from './public-facts.js';
import {
  generatedIn,
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
  statementStream,
} from './testing.js';

const timeoutMs = 20_000;
const dispatcher = 'webhook-dispatcher';
const readersOfStatements = [relayGroup, dispatcher] as const;

let log: PaymentLog;
let readers: { stop(): Promise<void> }[];

beforeEach(async () => {
  log = await openPaymentLog();
  readers = [];
});
afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await log.close();
});

type Reader = (typeof readersOfStatements)[number];

const stateOf = (transport: 'embedded' | 'kafka' = 'embedded') =>
  pgConsumerState(log.pool, {
    anchorAt: (position) => anchorAt(log.store, position),
    laterPrefixesOf,
    transport,
  });

/**
 * Takes a page, then saves the checkpoint. @param pagesMax it dies before it saves the last of these pages
 */
function read(reader: Reader, { pagesMax = Infinity, pageMax = 500 } = {}) {
  const { store, pool } = log;
  const limits = { pageMax };
  const feedOf = integrationFeeds({ store, pool, onHeld: () => undefined, limits });
  const ending = new AbortController();
  const { signal } = ending;
  const taken: string[] = [];
  const state = stateOf();
  const run = async () => {
    const after = await state.loadCheckpoint(reader);
    const topics = reader === relayGroup ? filledTopics : topicsOfGroup[reader];
    let pages = 0;
    for await (const page of feedOf(reader).subscribe({ after, topics, signal })) {
      taken.push(...page.messages.map(({ key }) => key));
      pages += 1;
      if (pages >= pagesMax) return;
      await state.saveCheckpoint(reader, page.position, page.eventId, page.kindsRead);
    }
  };
  const ended = run();
  const stop = () => {
    ending.abort();
    return ended;
  };
  readers.push({ stop });
  return { taken, stop, ended };
}

async function readToTheEnd(reader: Reader): Promise<readonly string[]> {
  const { taken, stop } = read(reader);
  const end = await log.store.lastPosition();
  await until(async () => (await readPlace(log.pool, reader)).position === end, { timeoutMs });
  await stop();
  return taken;
}

/** What a reader of the previous release does at the end of the log. On Kafka its relay saves the groups' checkpoints so, too. */
async function previousReaderReaches(reader: string, position: Position): Promise<void> {
  const anchor = await anchorAt(log.store, position);
  await log.pool.query(
    `INSERT INTO consumer_checkpoints AS c
       (consumer_group, position, event_id, stream_id, revision, transport, updated_at)
     VALUES ($1, $2, $3, $4, $5, 'embedded', now())
     ON CONFLICT (consumer_group) DO UPDATE
       SET position = EXCLUDED.position, event_id = EXCLUDED.event_id,
         stream_id = EXCLUDED.stream_id, revision = EXCLUDED.revision,
         transport = EXCLUDED.transport, updated_at = now()
       WHERE c.position < EXCLUDED.position`,
    [reader, anchor?.position, anchor?.eventId, anchor?.streamId, anchor?.revision],
  );
}

const previousReaderReachesTheEnd = async (reader: string) =>
  previousReaderReaches(reader, await log.store.lastPosition());

async function pay(): Promise<string> {
  const streamId = paymentStream('a');
  await log.append(streamId, queuedIn(streamId));
  return streamId;
}

async function generateStatement(): Promise<string> {
  const streamId = statementStream();
  await log.append(streamId, generatedIn(streamId));
  return streamId;
}

it.each(readersOfStatements)(
  '%s delivers the statements that the previous release passed over, once',
  async (reader) => {
    await pay();
    await readToTheEnd(reader);
    const missed = [await generateStatement(), await generateStatement()];
    await pay();
    await previousReaderReachesTheEnd(reader);
    const next = [await pay(), await generateStatement()];
    expect(await readToTheEnd(reader)).toEqual([...missed, ...next]);
    const last = await pay();
    expect(await readToTheEnd(reader)).toEqual([last]);
  },
);

it('a group that only the previous release has read for lacks no statement', async () => {
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([missed, last]);
});

it('a reader that dies before it has delivered all statements goes on with the page that it has not saved, also after another rollback', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed = [await generateStatement(), await generateStatement(), await generateStatement()];
  await previousReaderReachesTheEnd(dispatcher);
  const dying = read(dispatcher, { pageMax: 1, pagesMax: 2 });
  await dying.ended;
  expect(dying.taken).toEqual(missed.slice(0, 2));
  missed.push(await generateStatement());
  await previousReaderReachesTheEnd(dispatcher);
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([...missed.slice(1), last]);
});

it('what was passed over is delivered once although the log rests and the reader starts again', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  const end = await log.store.lastPosition();
  const first = read(dispatcher);
  await until(async () => (await kindsReadBy(dispatcher))['statement-'] === end, { timeoutMs });
  await first.stop();
  expect(first.taken).toEqual([missed]);
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([last]);
});

it('an operator who moves a group back while it catches up gets all of it again', async () => {
  await pay();
  const start = await anchorAt(log.store, await log.store.lastPosition());
  await readToTheEnd(dispatcher);
  const missed = [await generateStatement(), await generateStatement()];
  await previousReaderReachesTheEnd(dispatcher);
  const state = stateOf();
  const position = await state.loadCheckpoint(dispatcher);
  await moveReaders(log, [dispatcher], start);
  const before = await kindsReadBy(dispatcher);
  const saved = state.saveCheckpoint(dispatcher, position, undefined, { 'statement-': position });
  await expect(saved).rejects.toThrow(CheckpointMoved);
  expect(await kindsReadBy(dispatcher)).toEqual(before);
  expect(await readToTheEnd(dispatcher)).toEqual(missed);
});

it('a reader that is slower than another one takes nothing back', async () => {
  const first = await generateStatement();
  const { position } = await readStream(first);
  await generateStatement();
  await readToTheEnd(dispatcher);
  const state = stateOf();
  await state.loadCheckpoint(dispatcher);
  const before = await kindsReadBy(dispatcher);
  await state.saveCheckpoint(dispatcher, position, undefined, { 'statement-': position });
  expect(await kindsReadBy(dispatcher)).toEqual(before);
});

it('a group handles all that was passed over although the database goes away in between and comes back', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed: string[] = [];
  for (let n = 0; n < 5; n += 1) missed.push(await generateStatement());
  await previousReaderReachesTheEnd(dispatcher);
  const server = await tcpProxy(log.pool.options.connectionString ?? '');
  const pool = openTestPool(server.url, 5);
  const { store } = log;
  const limits = { pageMax: 1 };
  const anchor = (position: Position) => anchorAt(store, position);
  const problems: string[] = [];
  const group = new EmbeddedConsumerStrategy({
    group: dispatcher,
    deferred: pgDeferredMessages(pool),
    source: integrationFeeds({ store, pool, onHeld: () => undefined, limits })(dispatcher),
    state: pgConsumerState(pool, { anchorAt: anchor, laterPrefixesOf }),
    observe: { problem: (doing) => problems.push(doing) },
    commitIntervalMs: 1,
  });
  readers.push({
    stop: async () => {
      await group.close();
      await pool.end();
      server.close();
    },
  });
  const handled: string[] = [];
  const handle = ({ data }: { data: { statementId: string } }) => {
    handled.push(`statement-${data.statementId}`);
    if (handled.length === 3) server.goAway();
  };
  group.addHandler(topics.statements, handle as never, true);
  group.listen(() => undefined);
  await until(() => problems.length > 1, { timeoutMs });
  server.comeBack();
  const end = await store.lastPosition();
  await until(async () => (await kindsReadBy(dispatcher))['statement-'] === end, { timeoutMs });
  expect(new Set(handled)).toEqual(new Set(missed));
  const last = await generateStatement();
  await until(() => handled.at(-1) === last, { timeoutMs });
  await group.close();
  expect(await readToTheEnd(dispatcher)).toEqual([]);
});

async function readStream(streamId: string): Promise<RecordedEvent> {
  const [event] = await log.store.readStream(streamId);
  if (event === undefined) throw new Error(`${streamId} is empty`);
  return event;
}

const kindsReadBy = async (reader: string) => (await readPlace(log.pool, reader)).kindsRead;

it('a reader beside one of the previous release, which is ahead, loses nothing', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  const { taken, stop } = read(dispatcher);
  await until(() => taken.length === 1, { timeoutMs });
  // Both read it, and the previous release saves first.
  const both = await pay();
  const later = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  await until(() => taken.length === 3, { timeoutMs });
  await stop();
  expect(taken).toEqual([missed, both, later]);
  const last = await pay();
  expect((await readToTheEnd(dispatcher)).at(-1)).toBe(last);
});

it('the place of the relay is before what it has passed over', async () => {
  await pay();
  await readToTheEnd(relayGroup);
  const { position } = await relayPlace(log.pool);
  await generateStatement();
  await previousReaderReachesTheEnd(relayGroup);
  expect(await relayPlace(log.pool)).toEqual({ position, eventId: null });
  await pay();
  await readToTheEnd(relayGroup);
  expect((await relayPlace(log.pool)).position).toBe(await log.store.lastPosition());
});

it('an operator who moves a group forwards leaves out what was passed over, and one who moves it backwards does not', async () => {
  await pay();
  const start = await anchorAt(log.store, await log.store.lastPosition());
  await readToTheEnd(dispatcher);
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  const middle = await anchorAt(log.store, await log.store.lastPosition());
  const payment = await pay();
  await previousReaderReachesTheEnd(dispatcher);
  await moveReaders(log, [dispatcher], middle);
  expect(await readToTheEnd(dispatcher)).toEqual([missed, payment]);

  await moveReaders(log, [dispatcher], start);
  await previousReaderReachesTheEnd(dispatcher);
  await moveReaders(log, [dispatcher], await anchorAt(log.store, await log.store.lastPosition()));
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([last]);
});

it('a group that moves to another database takes along what it has passed over', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  const [exported] = await exportCheckpoints(log.pool);
  expect(exported).toMatchObject({ group: dispatcher });
  await log.pool.query('DELETE FROM consumer_checkpoints');
  await importCheckpoints(log, exported === undefined ? [] : [exported]);
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([missed, last]);
});

it.each([
  ['this release has read for', () => readToTheEnd(dispatcher)],
  ['only the previous release has read for', () => previousReaderReachesTheEnd(dispatcher)],
])(
  'a group that %s moves to a database where it is elsewhere, and takes along what it has passed over',
  async (_whom, readFirst) => {
    await pay();
    await readFirst();
    const missed = await generateStatement();
    await previousReaderReachesTheEnd(dispatcher);
    const exported = await exportCheckpoints(log.pool);
    const later = await pay();
    for (const elsewhere of ['end', 'middle']) {
      const position = elsewhere === 'end' ? await log.store.lastPosition() : exported[0]?.position;
      await moveReaders(log, [dispatcher], await anchorAt(log.store, position ?? ''));
      await importCheckpoints(log, exported);
      expect(await readToTheEnd(dispatcher)).toEqual([missed, later]);
    }
  },
);

it('what is before a checkpoint that the previous release has exported counts as read', async () => {
  await generateStatement();
  const anchor = await anchorAt(log.store, await log.store.lastPosition());
  if (anchor === null) throw new Error('the log is empty');
  await importCheckpoints(log, [{ group: dispatcher, ...anchor }]);
  const last = await pay();
  expect(await readToTheEnd(dispatcher)).toEqual([last]);
});

it('the relay that takes over from the groups publishes what they have passed over', async () => {
  await pay();
  await readToTheEnd(dispatcher);
  const missed = await generateStatement();
  await previousReaderReachesTheEnd(dispatcher);
  await moveReaders(
    log,
    ['rail-executor'],
    await anchorAt(log.store, await log.store.lastPosition()),
  );
  expect(await carryOverToRelay(log.pool)).toBe(await log.store.lastPosition());
  const last = await pay();
  expect(await readToTheEnd(relayGroup)).toEqual([missed, last]);
});

it('the relay that goes back after a restore still publishes what it has passed over', async () => {
  await pay();
  await readToTheEnd(relayGroup);
  const missed = await generateStatement();
  await pay();
  const middle = await anchorAt(log.store, await log.store.lastPosition());
  const again = await pay();
  await previousReaderReachesTheEnd(relayGroup);
  await moveReaders(log, ['rail-executor', dispatcher], middle, 'kafka');
  await restoreTheDatabase();
  expect(await goBackToGroups(log.pool)).toBe(middle?.position);
  expect(await readToTheEnd(relayGroup)).toEqual([missed, again]);
  expect(await readCheckpoints(log.pool)).toHaveLength(3);
});

describe('the relay that goes back after a restore publishes again what the groups have not read of a kind by the database', () => {
  let missed: string;
  let published: string;

  /** The previous release passes over a statement, and saves that the groups have read what it published. */
  beforeEach(async () => {
    await pay();
    await readToTheEnd(relayGroup);
    const { position } = await relayPlace(log.pool);
    for (const group of consumerGroups) await stateOf('kafka').saveCheckpoint(group, position);
    missed = await generateStatement();
    await pay();
    for (const reader of [relayGroup, ...consumerGroups]) await previousReaderReachesTheEnd(reader);
    published = await pay();
    expect(await readToTheEnd(relayGroup)).toEqual([missed, published]);
    await restoreTheDatabase();
  });

  it('if they are behind the relay', async () => {
    expect(await goBackToGroups(log.pool)).not.toBeNull();
    expect(await readToTheEnd(relayGroup)).toEqual([missed, published]);
  });

  it('if they are where the relay is', async () => {
    for (const group of consumerGroups) await previousReaderReachesTheEnd(group);
    const last = await pay();
    expect(await goBackToGroups(log.pool)).not.toBeNull();
    expect(await readToTheEnd(relayGroup)).toEqual([missed, last]);
  });

  it('if only the previous release has read for them', async () => {
    await log.pool.query('DELETE FROM consumer_checkpoints WHERE consumer_group = $1', [
      dispatcher,
    ]);
    await previousReaderReachesTheEnd(dispatcher);
    expect(await goBackToGroups(log.pool)).not.toBeNull();
    expect(await readToTheEnd(relayGroup)).toEqual([missed, published]);
  });

  it('and nothing if they have read it', async () => {
    const { position } = await relayPlace(log.pool);
    await pay();
    await readToTheEnd(relayGroup);
    for (const group of consumerGroups) await stateOf('kafka').saveCheckpoint(group, position);
    const last = await pay();
    await goBackToGroups(log.pool);
    expect(await readToTheEnd(relayGroup)).toEqual([expect.any(String), last]);
  });
});

/** As the relay that is active next sees it. */
async function restoreTheDatabase(): Promise<void> {
  await log.pool.query(
    "UPDATE consumer_checkpoints SET database_identity = 'of the lost database' WHERE consumer_group = $1",
    [relayGroup],
  );
}
