/** What the EventStoreDB adapter does when the server does not do its part. */
import { until } from '@pis/local-servers/testing';
import { type EventStore, EventTooLarge, StoreUnavailable } from '../port.js';
import { eventToAppend, follow, testTimeoutMs, unique } from '../testing/conformance-kit.js';
import {
  type EventStoreDbStandIn,
  type Fault,
  startEventStoreDbStandIn,
} from '../testing/eventstoredb-stand-in.js';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';

const timeoutMs = 20_000;

describe('the event store when EventStoreDB fails', () => {
  let server: EventStoreDbStandIn;
  /** Gives up soon; what must succeed with it is tried until it does. */
  let store: EventStore;
  /** With the limits of production, for what must succeed at once. */
  let patient: EventStore;
  beforeEach(async () => {
    server = await startEventStoreDbStandIn();
    store = eventStoreDbEventStore({
      connectionString: server.url,
      appendTimeoutMs: 300,
      readTimeoutMs: 300,
    });
    patient = eventStoreDbEventStore({ connectionString: server.url });
  });
  afterEach(async () => {
    await store.close();
    await patient.close();
    await server.stop();
  });

  it.each<Fault>(['hang', 'unavailable', 'unauthenticated', 'answerHangs', 'answerLost'])(
    'answers in time when the server does not (%s), and takes the same ids again',
    async (fault) => {
      const streamId = `payment-${unique()}`;
      const events = [eventToAppend(), eventToAppend()];
      server.faults.append = () => fault;
      const failing = store.append(streamId, 'noStream', events);
      await expect(failing).rejects.toBeInstanceOf(StoreUnavailable);
      server.faults.append = null;
      const again = () => store.append(streamId, 'noStream', events);
      const appended = await until(again, { timeoutMs });
      const recorded = await patient.readStream(streamId);
      expect(recorded.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
      expect(appended).toEqual({ revision: 1, position: recorded[1]?.position });
    },
    testTimeoutMs,
  );

  it.each(['hang', 'unavailable', 'unauthenticated'] as const)(
    'reports a read that is not answered (%s) as StoreUnavailable, and reads again',
    async (fault) => {
      server.faults.read = () => fault;
      const outcomes = await Promise.allSettled([
        store.readStream('payment-1'),
        store.readStreams(['payment-1']),
        store.readLog({ after: '' }),
        store.lastPosition(),
        store.ping(),
      ]);
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ reason: { name: 'StoreUnavailable' } });
      server.faults.read = null;
      const again = await until(() => store.readStream('payment-1'), { timeoutMs });
      expect(again).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'reports a server that is down, and finds it when it comes up',
    async () => {
      const { port } = server;
      await server.stop();
      const append = () => store.append('payment-1', 'noStream', [eventToAppend()]);
      await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      const follower = follow(store, { after: '', streamPrefixes: ['payment-'] });
      server = await startEventStoreDbStandIn({ port });
      await until(async () => (await append()).revision === 0, { timeoutMs });
      await until(() => follower.events.length === 1, { timeoutMs });
      await follower.stop();
    },
    testTimeoutMs,
  );

  it(
    'keeps a subscription through a time without a server',
    async () => {
      const follower = follow(store, { after: '', streamPrefixes: ['payment-'] });
      await patient.append('payment-1', 'noStream', [eventToAppend()]);
      await until(() => follower.events.length === 1, { timeoutMs });
      server.refuseConnections(true);
      server.cutConnections();
      await expect(store.append('payment-2', 'noStream', [eventToAppend()])).rejects.toBeInstanceOf(
        StoreUnavailable,
      );
      server.refuseConnections(false);
      const again = () => store.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
      await until(again, { timeoutMs });
      await until(() => follower.events.length >= 2, { timeoutMs });
      await follower.stop();
    },
    testTimeoutMs,
  );

  it(
    'does not take the other appends of the process down with one that fails',
    async () => {
      const other = eventStoreDbEventStore({ connectionString: server.url });
      server.faults.append = (streamId) => (streamId === 'payment-bad' ? 'answerLost' : null);
      const [bad, ...good] = await Promise.allSettled([
        patient.append('payment-bad', 'noStream', [eventToAppend()]),
        ...Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? patient : other).append(`payment-${index}`, 'noStream', [eventToAppend()]),
        ),
      ]);
      await other.close();
      expect(bad?.status).toBe('rejected');
      expect(good.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    },
    testTimeoutMs,
  );

  it(
    'refuses an event that is too large before it reaches the server',
    async () => {
      server.faults.append = () => 'hang';
      const large = store.append('payment-1', 'noStream', [
        eventToAppend({ pad: 'x'.repeat(1_000_000) }),
      ]);
      await expect(large).rejects.toBeInstanceOf(EventTooLarge);
    },
    testTimeoutMs,
  );

  it(
    'names its positions so that their text is in the order of the log',
    async () => {
      await patient.append('payment-1', 'noStream', [eventToAppend(), eventToAppend()]);
      for (let revision = 1; revision < 120; revision++)
        await patient.append('payment-1', revision, [eventToAppend()]);
      const positions = (await patient.readStream('payment-1')).map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted());
      expect(positions.every((position) => /^\d{40}$/.test(position))).toBe(true);
      await expect(store.readLog({ after: 'nowhere' })).rejects.toBeInstanceOf(TypeError);
    },
    testTimeoutMs,
  );
});
