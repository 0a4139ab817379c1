/** The stand-in, through the official client alone: what the adapter does not use of it. */
import { until } from '@pis/local-servers/testing';
import {
  EventStoreDBClient,
  NO_STREAM,
  PersistentSubscriptionExistsError,
  START,
  WrongExpectedVersionError,
  eventTypeFilter,
  jsonEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from './eventstoredb-stand-in.js';

const event = (type: string, data: Record<string, unknown> = {}) => jsonEvent({ type, data });

describe('the EventStoreDB stand-in', () => {
  let server: EventStoreDbStandIn;
  let client: EventStoreDBClient;
  beforeEach(async () => {
    server = await startEventStoreDbStandIn();
    client = EventStoreDBClient.connectionString(server.url);
  });
  afterEach(async () => {
    await client.dispose();
    await server.stop();
  });

  it('takes batch appends, in several messages when they are large', async () => {
    const pad = 'x'.repeat(20_000);
    const events = Array.from({ length: 300 }, (_, index) => event('Big', { index, pad }));
    const expectedRevision = NO_STREAM;
    const appended = await client.appendToStream('big', events, { expectedRevision });
    expect(appended.nextExpectedRevision).toBe(299n);
    const conflict = client.appendToStream('big', event('Late'), { expectedRevision });
    await expect(conflict).rejects.toBeInstanceOf(WrongExpectedVersionError);
  });

  it('filters a subscription by event type', async () => {
    await client.appendToStream('a', [event('Wanted'), event('Other'), event('Wanted')]);
    const filter = eventTypeFilter({ prefixes: ['Want'] });
    const types: string[] = [];
    for await (const { event: seen } of client.subscribeToAll({ filter })) {
      types.push(seen?.type ?? '');
      if (types.length === 2) break;
    }
    expect(types).toEqual(['Wanted', 'Wanted']);
  });

  it('keeps a persistent subscription to a stream: acknowledged, retried, parked', async () => {
    const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START });
    await client.createPersistentSubscriptionToStream('s', 'g', settings);
    const again = client.createPersistentSubscriptionToStream('s', 'g', settings);
    await expect(again).rejects.toBeInstanceOf(PersistentSubscriptionExistsError);
    await client.appendToStream('s', [event('A'), event('B'), event('C')]);
    const seen: string[] = [];
    const subscription = client.subscribeToPersistentSubscriptionToStream('s', 'g');
    for await (const resolved of subscription) {
      const type = resolved.event?.type ?? '';
      seen.push(`${type}${resolved.retryCount}`);
      if (type === 'A' && resolved.retryCount === 0)
        await subscription.nack('retry', 'again', resolved);
      else if (type === 'C') await subscription.nack('park', 'no use', resolved);
      else await subscription.ack(resolved);
      if (seen.length === 4) break;
    }
    expect(seen).toEqual(['A0', 'B0', 'C0', 'A1']);
    await until(() => server.groups.get('s::g')?.acknowledged.size === 3, { timeoutMs: 20_000 });
    expect(server.groups.get('s::g')?.parked).toHaveLength(1);
  });

  it('keeps a persistent subscription to all streams', async () => {
    const settings = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START });
    await client.createPersistentSubscriptionToAll('g', settings);
    await client.appendToStream('s', event('A'));
    const subscription = client.subscribeToPersistentSubscriptionToAll('g');
    for await (const resolved of subscription) {
      await subscription.ack(resolved);
      if (resolved.event?.type === 'A') break;
    }
    await until(() => (server.groups.get('$all::g')?.acknowledged.size ?? 0) >= 1, {
      timeoutMs: 20_000,
    });
  });
});
