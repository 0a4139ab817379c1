/** How an adapter of EventStoreDB reads one page of the log after the other. Every adapter passes it. */
import { until } from '@pis/local-servers/testing';
import type { EventStore, Position, RecordedEvent } from '../port.js';
import { eventToAppend, expectInOrder, testTimeoutMs } from './conformance-kit.js';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from './eventstoredb-stand-in.js';
import type { OpenEventStoreDb } from './server-faults.js';

const timeoutMs = 20_000;
const pageMax = 5;

export function longLogReads(open: OpenEventStoreDb): void {
  let server: EventStoreDbStandIn;
  let store: EventStore;
  let written: string[];
  beforeEach(async () => {
    server = await startEventStoreDbStandIn();
    store = open({ connectionString: server.url });
    written = [];
    await write(60);
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  async function write(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const event = eventToAppend();
      await store.append(`payment-${written.length}`, 'noStream', [event]);
      written.push(event.id);
    }
  }

  /** Page after page until the end; `between` is awaited before each page after the first. */
  async function readToEnd(
    between: (pages: number) => Promise<void> = async () => undefined,
  ): Promise<RecordedEvent[]> {
    const read: RecordedEvent[] = [];
    for (let after: Position = '', pages = 0; ; pages += 1) {
      if (pages > 0) await between(pages);
      const page = await until(() => store.readLog({ after, pageMax }), { timeoutMs });
      if (page.position === after) break;
      expect(page.events.length).toBeLessThanOrEqual(pageMax);
      read.push(...page.events);
      after = page.position;
    }
    expectInOrder(read);
    return read;
  }

  const ids = (events: readonly RecordedEvent[]) => events.map(({ id }) => id);

  it(
    'reads page after page of the log in one call to the server',
    async () => {
      const before = server.answered();
      expect(ids(await readToEnd())).toEqual(written);
      // The first page, the long read, and twice what may have come since the long read got to the end.
      expect(server.answered() - before).toBeLessThanOrEqual(4);
    },
    testTimeoutMs,
  );

  it(
    'shows on each page what was appended before it was asked for',
    async () => {
      const late: string[] = [];
      const read = await readToEnd(async (pages) => {
        if (pages > 20) return;
        await write(1);
        late.push(...written.slice(-1));
      });
      expect(late).toHaveLength(20);
      expect(ids(read)).toEqual(written);
    },
    testTimeoutMs,
  );

  it(
    'shows the last events on the very page that is asked for after they were appended',
    async () => {
      const first = await store.readLog({ after: '', pageMax: 10 });
      const second = await store.readLog({ after: first.position, pageMax: 45 });
      expect(second.events).toHaveLength(45);
      await write(5);
      const last = await store.readLog({ after: second.position, pageMax: 45 });
      expect(ids(last.events)).toEqual(written.slice(55));
    },
    testTimeoutMs,
  );

  it(
    'goes on after its connection was cut between two pages: every event once, in order',
    async () => {
      const read = await readToEnd(async (pages) => {
        if (pages % 3 === 2) server.cutConnections();
      });
      expect(ids(read)).toEqual(written);
    },
    testTimeoutMs,
  );

  it(
    'lets two readers that stand at the same place each read everything',
    async () => {
      const reads = await Promise.all([readToEnd(), readToEnd(), readToEnd()]);
      for (const read of reads) expect(ids(read)).toEqual(written);
    },
    testTimeoutMs,
  );

  it(
    'fails a page in time when the server does not answer the long read, and reads it later',
    async () => {
      const hasty = open({ connectionString: server.url, readTimeoutMs: 500 });
      const page = (after: Position) => hasty.readLog({ after, pageMax });
      const { position } = await until(() => page(''), { timeoutMs });
      server.faults.read = () => 'hang';
      await expect(page(position)).rejects.toMatchObject({ name: 'StoreUnavailable' });
      server.faults.read = null;
      const second = await until(() => page(position), { timeoutMs });
      expect(ids(second.events)).toEqual(written.slice(5, 10));
      await hasty.close();
    },
    testTimeoutMs,
  );
}
