/** Tests of an EventStoreDB adapter with a failing server. Every adapter passes them. */
import { until } from '@pis/local-servers/testing';
import { type EventStore, EventTooLarge, StoreUnavailable } from '../port.js';
import { unreadableSchemaVersion } from '../eventstoredb/unreadable.js';
import { eventToAppend, follow, testTimeoutMs, unique } from './conformance-kit.js';
import {
  type EventStoreDbStandIn,
  type Fault,
  startEventStoreDbStandIn,
  subscriptionEnds,
} from './eventstoredb-stand-in.js';

const timeoutMs = 20_000;

/** Opens a store of the adapter under test. */
export type OpenEventStoreDb = (options: {
  readonly connectionString: string;
  readonly namespace?: string;
  readonly appendTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  readonly conflictTimeoutMs?: number;
}) => EventStore;

export function serverFaults(open: OpenEventStoreDb): void {
  let server: EventStoreDbStandIn;
  /** Gives up soon. Calls that must succeed are repeated until they do. */
  let store: EventStore;
  /** With the limits of production, for calls that must succeed at once. */
  let patient: EventStore;
  beforeEach(async () => {
    server = await startEventStoreDbStandIn();
    store = open({
      connectionString: server.url,
      appendTimeoutMs: 300,
      readTimeoutMs: 300,
    });
    patient = open({ connectionString: server.url });
  });
  afterEach(async () => {
    await store.close();
    await patient.close();
    await server.stop();
  });

  it.each<Fault>(['hang', 'unavailable', 'unauthenticated', 'answerHangs', 'answerLost'])(
    'answers in time when the server does not (%s), and accepts the same IDs again',
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
    'cuts no subscription because of one read that is slow',
    async () => {
      const failures: unknown[] = [];
      const follower = follow(patient, {
        after: '',
        onConnection: (failure) => void (failure && failures.push(failure)),
      });
      const hasty = open({ connectionString: server.url, readTimeoutMs: 1_500 });
      const other = follow(hasty, {
        after: '',
        onConnection: (failure) => void (failure && failures.push(failure)),
      });
      server.faults.read = (streamId) => (streamId.endsWith('payment-slow') ? 'hang' : null);
      await until(() => server.subscriptions() === 2, { timeoutMs });
      const slow = hasty.readStream('payment-slow');
      slow.catch(() => undefined);
      await hasty.append('payment-1', 'noStream', [eventToAppend()]);
      await expect(slow).rejects.toBeInstanceOf(StoreUnavailable);
      await hasty.append('payment-2', 'noStream', [eventToAppend()]);
      await until(() => other.events.length + follower.events.length === 4, { timeoutMs });
      expect(failures).toEqual([]);
      await Promise.all([follower.stop(), other.stop()]);
      await hasty.close();
    },
    testTimeoutMs,
  );

  it(
    'does not fail other appends of the process when one fails',
    async () => {
      const other = open({ connectionString: server.url });
      server.faults.append = (streamId) => (streamId.endsWith('payment-bad') ? 'answerLost' : null);
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

  it.each(['append', 'creation of a stream'] as const)(
    'returns the outcome when the %s is repeated while it is under way',
    async (which) => {
      const streamId = `payment-${unique()}`;
      const events = [eventToAppend(), eventToAppend()];
      if (which === 'append') await patient.append(streamId, 'noStream', [eventToAppend()]);
      const expected = which === 'append' ? 0 : 'noStream';
      server.log.pauseReplication();
      const both = [1, 2].map(() => patient.append(streamId, expected, events));
      const answeredBefore = server.answered();
      // Both got the answer "unknown outcome" at least once.
      await until(() => server.answered() >= answeredBefore + 4, { timeoutMs });
      server.log.resumeReplication();
      const [first, second] = await Promise.all(both);
      expect(first).toEqual(second);
      const stream = await patient.readStream(streamId, { from: first?.revision ?? 0 });
      expect(stream.map(({ id }) => id)).toEqual([events[1]?.id]);
    },
    testTimeoutMs,
  );

  it(
    'gives up in time on an append that is never replicated, and accepts it again later',
    async () => {
      const streamId = `payment-${unique()}`;
      const events = [eventToAppend()];
      server.log.pauseReplication();
      const append = () => store.append(streamId, 'noStream', events);
      await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
      server.log.resumeReplication();
      const appended = await until(append, { timeoutMs });
      expect(appended.revision).toBe(0);
      expect(await patient.readStream(streamId)).toHaveLength(1);
    },
    testTimeoutMs,
  );

  it(
    'reports a conflict only when the winning event can be read',
    async () => {
      const streamId = `payment-${unique()}`;
      const winner = eventToAppend();
      server.log.pauseReplication();
      const won = patient.append(streamId, 'noStream', [winner]);
      await until(() => server.answered() >= 1, { timeoutMs });
      let isTold = false;
      const lost = patient.append(streamId, 'noStream', [eventToAppend()]).finally(() => {
        isTold = true;
      });
      lost.catch(() => undefined);
      const answeredBefore = server.answered();
      // The conflict was answered, and the stream was read in vain.
      await until(() => server.answered() >= answeredBefore + 3, { timeoutMs });
      expect(isTold).toBe(false);
      server.log.resumeReplication();
      await expect(lost).rejects.toMatchObject({ name: 'WrongExpectedRevision', actual: 0 });
      expect((await patient.readStream(streamId)).map(({ id }) => id)).toEqual([winner.id]);
      await won;
    },
    testTimeoutMs,
  );

  it(
    'reports no conflict with an event that is lost before it can be read',
    async () => {
      const streamId = `payment-${unique()}`;
      server.log.pauseReplication();
      const winner = eventToAppend();
      const isPrepared = async () => {
        const append = store.append(streamId, 'noStream', [winner]);
        await expect(append).rejects.toBeInstanceOf(StoreUnavailable);
        // On a busy machine the store may give up before its append has reached the server.
        return server.log.hasPrepared(`pis.${streamId}`);
      };
      await until(isPrepared, { timeoutMs });
      const impatient = open({ connectionString: server.url, conflictTimeoutMs: 200 });
      const event = eventToAppend();
      const append = () => impatient.append(streamId, 'noStream', [event]);
      await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
      server.log.dropPrepared();
      expect(await append()).toMatchObject({ revision: 0 });
      expect((await patient.readStream(streamId)).map(({ id }) => id)).toEqual([event.id]);
      await impatient.close();
    },
    testTimeoutMs,
  );

  it.each([...subscriptionEnds, 'fellBehind', 'cut'] as const)(
    'keeps a subscription that the server drops (%s): every event once and in order',
    async (how) => {
      const failures: (string | null)[] = [];
      const follower = follow(patient, {
        after: '',
        streamPrefixes: ['payment-'],
        onConnection: (failure) => failures.push(failure?.name ?? null),
      });
      await patient.append('payment-1', 'noStream', [eventToAppend()]);
      await until(() => follower.events.length === 1, { timeoutMs });
      if (how === 'cut') server.cutConnections();
      else if (how === 'fellBehind') server.fallBehind();
      else server.endSubscriptions(how);
      const append = () => patient.append('payment-2', 'noStream', [second]);
      const second = eventToAppend();
      await until(append, { timeoutMs });
      await until(() => follower.events.length === 2, { timeoutMs });
      await follower.stop();
      expect(follower.events.map(({ streamId }) => streamId)).toEqual(['payment-1', 'payment-2']);
      expect(failures).toEqual(how === 'fellBehind' ? [null] : [null, 'StoreUnavailable', null]);
    },
    testTimeoutMs,
  );

  it(
    'keeps two namespaces on one server apart',
    async () => {
      const { url: connectionString } = server;
      const [ours, theirs] = ['pis', 'pis-2'].map((namespace) =>
        open({ connectionString, namespace }),
      );
      if (ours === undefined || theirs === undefined) throw new Error('no stores');
      const [one, other] = [follow(ours, { after: '' }), follow(theirs, { after: '' })];
      const [a, b] = [eventToAppend(), eventToAppend()];
      const first = await ours.append('payment-1', 'noStream', [a]);
      const second = await theirs.append('payment-1', 'noStream', [b]);
      await until(() => one.events.length + other.events.length === 2, { timeoutMs });
      for (const [store, follower, event, { position }] of [
        [ours, one, a, first],
        [theirs, other, b, second],
      ] as const) {
        const recorded = { streamId: 'payment-1', revision: 0, id: event.id };
        expect(await store.readStream('payment-1')).toMatchObject([recorded]);
        expect(follower.events).toMatchObject([recorded]);
        expect((await store.readLog({ after: '' })).events).toMatchObject([recorded]);
        expect(await store.lastPosition()).toBe(position);
        await follower.stop();
        await store.close();
      }
    },
    testTimeoutMs,
  );

  it(
    'reads past events of other systems, and marks unreadable events in its own streams',
    async () => {
      const foreign = (streamId: string, data: string) =>
        server.write(streamId, { id: eventToAppend().id, type: 'TheirEvent', data });
      await foreign('payment-1', 'not JSON');
      await foreign('pis.payment-2', 'not JSON');
      await foreign('pis.payment-2', '"JSON of another shape"');
      await patient.append('payment-3', 'noStream', [eventToAppend()]);
      const follower = follow(patient, { after: '' });
      await until(() => follower.events.length === 3, { timeoutMs });
      await follower.stop();
      const page = await patient.readLog({ after: '' });
      expect(page.events).toEqual(follower.events);
      expect(
        page.events.map(({ streamId, type, metadata: { schemaVersion } }) => [
          streamId,
          type,
          schemaVersion === unreadableSchemaVersion,
        ]),
      ).toEqual([
        ['payment-2', 'TheirEvent', true],
        ['payment-2', 'TheirEvent', true],
        ['payment-3', 'SomethingHappened', false],
      ]);
    },
    testTimeoutMs,
  );

  it(
    'returns positions whose text is in the order of the log',
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
}
