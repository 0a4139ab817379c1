import { randomUUID } from 'node:crypto';
import { type WebhookEndpointChanges, webhookEndpoints } from '@pis/domain';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { EndpointDirectory } from './endpoint-directory.js';

const organizationId = randomUUID();
const timeoutMs = 20_000;
const by = {
  actor: 'system:spec',
  requestId: null,
  correlationId: randomUUID(),
  causationId: null,
  traceparent: null,
};

describe('The endpoints that an event goes to', () => {
  let store: EventStore;
  let directory: EndpointDirectory;
  /** Streams read by the directory. */
  let reads: number;
  let eventsRead: number;
  /** A read waits for this after it has its events and before it answers. */
  let beforeAnswer: () => Promise<void>;
  let subscriptions: { fail: (error: Error) => void }[];
  let errors: unknown[];
  let deleted: string[];
  let enabled: string[];
  let isFollowing: boolean;
  /** A subscription waits for this before it reads anything. */
  let beforeSubscribed: () => Promise<void>;
  let arePagesHeld: boolean;
  let limits: { freshForMs: number; followWaitMs: number };

  beforeEach(() => {
    store = memoryEventStore();
    reads = 0;
    eventsRead = 0;
    beforeAnswer = () => Promise.resolve();
    subscriptions = [];
    errors = [];
    deleted = [];
    enabled = [];
    isFollowing = true;
    beforeSubscribed = () => Promise.resolve();
    arePagesHeld = false;
    limits = { freshForMs: 60_000, followWaitMs: 1 };
    directory = new EndpointDirectory(
      watched(),
      Object.assign(limits, {
        organizationsMax: 10,
        followAgainMs: 1,
        onDeleted: (endpointId: string) => deleted.push(endpointId),
        onEnabled: (endpointId: string) => enabled.push(endpointId),
        logError: (error: unknown) => errors.push(error),
      }),
    );
    directory.start();
  });
  afterEach(() => directory.stop());

  it('are read once for many events, and again when one of them changes', async () => {
    const a = await create();
    expect(await receivers()).toEqual([a]);
    const position = await followed();
    expect(await receivers(position)).toEqual([a]);
    reads = 0;
    for (let n = 0; n < 20; n += 1) expect(await receivers(position)).toEqual([a]);
    expect(reads).toBe(0);
    const b = await create();
    expect(await receivers()).toEqual([a, b]);
    await change(a, { enabled: false });
    expect(await receivers(await followed())).toEqual([b]);
  });

  it('are not read again for an event that the followed log has not come to yet', async () => {
    const a = await create();
    expect(await receivers(await followed())).toEqual([a]);
    // Longer than the test may last: only the followed log ends the wait.
    limits.followWaitMs = 3_600_000;
    isFollowing = false;
    reads = 0;
    const found = receivers(await occur());
    isFollowing = true;
    expect(await found).toEqual([a]);
    expect(reads).toBe(0);
  });

  it('are not read again for an attempt, and are those of now', async () => {
    const a = await create();
    expect(await receivers(await followed())).toEqual([a]);
    Object.assign(limits, { freshForMs: 0, followWaitMs: timeoutMs });
    const current = () => directory.current(organizationId, a);
    reads = 0;
    for (let n = 0; n < 5; n += 1) {
      await occur();
      expect(await current()).toMatchObject({ enabled: true });
    }
    expect(reads).toBe(0);
    await change(a, { enabled: false });
    expect(await current()).toMatchObject({ enabled: false });
    expect(reads).toBe(1);
  });

  it('are read for an attempt while the followed log is late', async () => {
    const a = await create();
    expect(await receivers(await followed())).toEqual([a]);
    limits.freshForMs = 0;
    arePagesHeld = true;
    await change(a, { enabled: false });
    expect(await directory.current(organizationId, a)).toMatchObject({ enabled: false });
    arePagesHeld = false;
  });

  it('include one that was created just before the event, even if the log is followed late', async () => {
    const created: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      isFollowing = n % 2 === 0;
      created.push(await create());
      const position = await occur();
      for (let turn = 0; turn < 20; turn += 1) expect(await receivers(position)).toEqual(created);
    }
  });

  it('include a change that came while they were read', async () => {
    const a = await create();
    const before = await followed();
    const held = Promise.withResolvers<void>();
    beforeAnswer = () => held.promise;
    const old = receivers(before);
    await until(() => reads === 1, { timeoutMs, what: 'the read' });
    beforeAnswer = () => Promise.resolve();
    const b = await create();
    const after = await followed();
    held.resolve();
    expect(await old).toEqual([a]);
    expect(await receivers(after)).toEqual([a, b]);
  });

  it('include changes that came while the log was not followed', async () => {
    const a = await create();
    expect(await receivers(await followed())).toEqual([a]);
    isFollowing = false;
    subscriptions.at(-1)?.fail(new Error('cut'));
    await until(() => errors.length > 0, { timeoutMs, what: 'the failure' });
    const b = await create();
    isFollowing = true;
    expect(await receivers(await followed())).toEqual([a, b]);
    expect(errors).toEqual([new Error('cut')]);
  });

  it('are those of the log that is followed again, whatever was at the same positions before', async () => {
    const a = await create();
    expect(await receivers(await occur())).toEqual([a]);
    await change(a, { enabled: false });
    expect(await receivers(await occur())).toEqual([]);
    store = memoryEventStore();
    subscriptions.at(-1)?.fail(new Error('cut'));
    await until(() => subscriptions.length === 2, { timeoutMs, what: 'the new log followed' });
    const [b, c] = [await create(), await create()];
    expect(await receivers(await occur())).toEqual([b, c]);
  });

  it('are those of a log that lost its end before it was followed', async () => {
    await until(() => subscriptions.length === 1, { timeoutMs });
    const a = await create();
    const held = Promise.withResolvers<void>();
    beforeSubscribed = () => held.promise;
    subscriptions.at(-1)?.fail(new Error('cut'));
    await until(() => subscriptions.length === 2, { timeoutMs });
    expect(await receivers()).toEqual([a]);
    limits.followWaitMs = timeoutMs;
    store = memoryEventStore();
    const b = await create();
    for (let count = 0; count < 3; count += 1) await occur();
    held.resolve();
    expect(await receivers()).toEqual([b]);
    expect(errors).toContainEqual(expect.objectContaining({ name: 'EventsLost' }));
  });

  it('are those at the time of the event, not now', async () => {
    const a = await create();
    const before = await occur();
    await change(a, { subscribedEvents: ['payment.failed'] });
    const b = await create();
    const after = await followed();
    expect(await receivers(after)).toEqual([b]);
    expect(await receivers(before)).toEqual([a]);
    expect(await receivers(after)).toEqual([b]);
  });

  it.each([
    // About one read per change, and a page for each event before the remembered ones.
    ['in the order of the log', 20, (positions: readonly string[]) => positions],
    ['backwards', 300, (positions: readonly string[]) => positions.toReversed()],
  ] as const)(
    'need no fold of the whole stream per event while endpoints keep changing: %s',
    async (_order, eventsPerEventMax, ordered) => {
      const a = await create();
      const positions: string[] = [];
      const expected = new Map<string, readonly string[]>();
      const changes = 1_500;
      for (let n = 0; n < changes; n += 1) {
        const enabled = n % 2 === 1;
        await change(a, { enabled });
        if (n % 10 > 1) continue;
        const position = await occur();
        positions.push(position);
        expected.set(position, enabled ? [a] : []);
      }
      await followed();
      eventsRead = 0;
      for (const position of ordered(positions))
        expect(await receivers(position)).toEqual(expected.get(position));
      expect(eventsRead / positions.length).toBeLessThan(eventsPerEventMax);
      const inOrder = positions.map((position) => expected.get(position));
      eventsRead = 0;
      const again = await Promise.all(positions.slice(-20).map((position) => receivers(position)));
      expect(again).toEqual(inOrder.slice(-20));
      expect(eventsRead).toBeLessThan(20 * 200);
    },
  );

  it('do not include a deleted one, and its deletion is reported', async () => {
    const [a, b] = [await create(), await create()];
    await followed();
    const at = new Date().toISOString();
    const data = { organizationId, endpointId: a };
    const command = { type: 'DeleteWebhookEndpoint', at, data } as const;
    await repository(store, webhookEndpoints).execute(organizationId, command, by);
    expect(await receivers(await followed())).toEqual([b]);
    expect(deleted).toEqual([a]);
  });

  it('are reported when they are enabled, and not for other changes', async () => {
    const [a, b] = [await create(), await create()];
    await change(a, { enabled: false });
    await change(b, { label: 'main' });
    await followed();
    expect(enabled).toEqual([]);
    await change(a, { enabled: true });
    await followed();
    expect(enabled).toEqual([a]);
  });

  /** Of an event that occurs now, by default. */
  async function receivers(position?: string): Promise<string[]> {
    const at = position ?? (await occur());
    const found = await directory.receiversOf(organizationId, 'payment.queued', at);
    return found.map(({ endpointId }) => endpointId);
  }

  /** @returns the position of an event up to which the directory has followed the log */
  async function followed(): Promise<string> {
    const position = await occur();
    // It reads a new organization at first, and later only while it has not followed the log so far.
    const stranger = randomUUID();
    const answersFromMemory = async () => {
      const before = reads;
      await directory.receiversOf(stranger, 'payment.queued', position);
      return reads === before;
    };
    await until(answersFromMemory, { timeoutMs, what: 'the log followed' });
    reads = 0;
    return position;
  }

  async function occur(): Promise<string> {
    const metadata = { ...by, at: new Date().toISOString(), schemaVersion: 1, previousHash: null };
    const event = { id: randomUUID(), type: 'Occurred', data: {}, metadata };
    return (await store.append(`payment-${randomUUID()}`, 'noStream', [event])).position;
  }

  async function create(): Promise<string> {
    const endpointId = randomUUID();
    await repository(store, webhookEndpoints).execute(
      organizationId,
      {
        type: 'CreateWebhookEndpoint',
        at: new Date().toISOString(),
        data: {
          organizationId,
          endpointId,
          url: 'https://receiver.example/hook',
          subscribedEvents: ['payment.*'],
          label: null,
          sealedSecret: 'sealed',
        },
      },
      by,
    );
    return endpointId;
  }

  async function change(endpointId: string, changes: WebhookEndpointChanges): Promise<void> {
    await repository(store, webhookEndpoints).execute(
      organizationId,
      {
        type: 'UpdateWebhookEndpoint',
        at: new Date().toISOString(),
        data: { organizationId, endpointId, changes },
      },
      by,
    );
  }

  /** The store as the directory sees it. A test counts, delays or cuts its calls. */
  function watched(): EventStore {
    return {
      ...store,
      async readStream(streamId, options) {
        const events = await store.readStream(streamId, options);
        reads += 1;
        eventsRead += events.length;
        await beforeAnswer();
        return events;
      },
      async lastPosition() {
        await until(() => isFollowing, { timeoutMs, what: 'leave to follow' });
        return store.lastPosition();
      },
      async *subscribe({ signal, ...options }) {
        const { promise: cut, reject: fail } = Promise.withResolvers<never>();
        cut.catch(() => undefined);
        subscriptions.push({ fail });
        await beforeSubscribed();
        const pages = store.subscribe({ ...options, signal })[Symbol.asyncIterator]();
        for (;;) {
          const page = await Promise.race([pages.next(), cut]);
          if (page.done === true) return;
          const isGiven = () => isFollowing && !arePagesHeld;
          if (!isGiven()) await Promise.race([until(isGiven, { timeoutMs }), cut]);
          yield page.value;
        }
      },
    };
  }
});
