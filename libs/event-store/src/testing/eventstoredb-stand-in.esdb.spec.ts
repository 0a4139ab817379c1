/** The stand-in, through the official client alone: what the adapter does not use of it. */
import {
  EventStoreDBClient,
  NO_STREAM,
  WrongExpectedVersionError,
  eventTypeFilter,
  jsonEvent,
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
    const pad = 'x'.repeat(2_000);
    const events = Array.from({ length: 300 }, (_, index) => event('Big', { index, pad }));
    const expectedRevision = NO_STREAM;
    const options = { expectedRevision, batchAppendSize: 100_000 } as const;
    const appended = await client.appendToStream('big', events, options);
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
});
