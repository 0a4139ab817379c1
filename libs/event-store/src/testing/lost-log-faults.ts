/** Tests of an EventStoreDB adapter whose log loses events, as after a restore. Every adapter passes them. */
import { until } from '@pis/local-servers/testing';
import { namespaceDefault } from '../eventstoredb/namespace.js';
import { type EventStore, EventsLost, type RecordedEvent, beginning } from '../port.js';
import { eventToAppend, follow, testTimeoutMs, unique } from './conformance-kit.js';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from './eventstoredb-stand-in.js';
import type { OpenEventStoreDb } from './server-faults.js';
import type { NoPlace } from './stand-in-faults.js';

const timeoutMs = 20_000;
const written = 4;
const kept = 2;

export function lostLogFaults(open: OpenEventStoreDb): void {
  let server: EventStoreDbStandIn;
  let store: EventStore;
  beforeEach(async () => {
    server = await startEventStoreDbStandIn();
    store = open({ connectionString: server.url });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  /** The server is away while the log loses its end, and others write to it. */
  async function restored({ news, shift }: { readonly news: number; readonly shift: number }) {
    server.refuseConnections(true);
    server.cutConnections();
    server.log.lose(written - kept, shift);
    for (let count = 0; count < news; count += 1) {
      const { id, type } = eventToAppend();
      await server.write(`${namespaceDefault}.payment-${unique()}`, { id, type, data: '{}' });
    }
    server.refuseConnections(false);
  }

  const append = () => store.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
  const read = async () => (await store.readLog({ after: beginning })).events;
  const placeOf = (event: RecordedEvent | undefined) => ({
    after: event?.position ?? beginning,
    afterEventId: event?.id,
  });

  it.each<readonly [what: string, news: number, shift: number, NoPlace]>([
    ['ends before', 1, 0, 'named'],
    ['has others at the same places', 3, 0, 'named'],
    ['has others at other places', 3, 7, 'named'],
    ['has others at other places, which an older server does not say', 3, 7, 'unnamed'],
  ])(
    'ends a subscription behind lost events when the log %s, and begins another one before them',
    async (_, news, shift, noPlace) => {
      server.faults.noPlace = noPlace;
      for (let count = 0; count < written; count += 1) await append();
      const former = await read();
      const follower = follow(store, { after: beginning });
      await until(() => follower.events.length === written, { timeoutMs });
      await restored({ news, shift });
      await expect(follower.ended).rejects.toThrow(EventsLost);
      expect(follower.events).toEqual(former);

      const lost = former.at(-1);
      const log = await until(read, { timeoutMs });
      await expect(store.readLog(placeOf(lost))).rejects.toThrow(EventsLost);
      const last = log.findLast(({ position }) => position <= (lost?.position ?? beginning));
      expect(await store.lastEvent(lost?.position ?? beginning)).toEqual(last);
      const again = follow(store, placeOf(former[kept - 1]));
      await until(() => again.events.length === news, { timeoutMs });
      expect(again.events).toEqual(log.slice(kept));
      await again.stop();
    },
    testTimeoutMs,
  );

  it(
    'ends a subscription at a place that the log has lost, also if its event is not known',
    async () => {
      for (let count = 0; count < written; count += 1) await append();
      const after = await store.lastPosition();
      await restored({ news: written, shift: 7 });
      await expect(follow(store, { after }).ended).rejects.toThrow(EventsLost);
      await expect(store.readLog({ after })).rejects.toThrow(EventsLost);
    },
    testTimeoutMs,
  );
}
