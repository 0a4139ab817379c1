/** An append is all or nothing on the stand-in, too: the adapters rely on it. */
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import grpc, { type ClientWritableStream } from '@grpc/grpc-js';
import { eventStoreDbEventStore } from '../eventstoredb/eventstoredb-event-store.js';
import { appendMessages } from '../eventstoredb/messages.js';
import type { EventStore } from '../port.js';
import { proposeAppend } from '../proposed-append.js';
import { eventToAppend, testTimeoutMs } from './conformance-kit.js';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from './eventstoredb-stand-in.js';

type AppendCall = ClientWritableStream<AppendReq>;

const appends = 20;

let server: EventStoreDbStandIn;
let client: StreamsClient;
let store: EventStore;
beforeEach(async () => {
  server = await startEventStoreDbStandIn();
  client = new streamsService.StreamsClient(
    `127.0.0.1:${server.port}`,
    grpc.credentials.createInsecure(),
  );
  store = eventStoreDbEventStore({ connectionString: server.url });
});
afterEach(async () => {
  client.close();
  await store.close();
  await server.stop();
});

const streamOf = (index: number) => `payment-${index}`;

/** The messages of an append of two events. */
function messagesOf(index: number): AppendReq[] {
  const events = [eventToAppend(), eventToAppend()];
  const proposed = proposeAppend(streamOf(index), 'noStream', events);
  return appendMessages(`pis.${streamOf(index)}`, proposed);
}

/** Sends all messages but the last; `ended` resolves with the outcome of the call. */
async function sendPart(index: number) {
  const { promise: ended, resolve } = Promise.withResolvers<Error | AppendResp | undefined>();
  const call: AppendCall = client.append((error, response) => resolve(error ?? response));
  call.on('error', () => undefined);
  for (const message of messagesOf(index).slice(0, -1))
    await new Promise<void>((sent) => void call.write(message, () => sent()));
  return { call, ended };
}

const cuts: Readonly<Record<string, (calls: readonly AppendCall[]) => void>> = {
  'the client cancels it': (calls) => calls.forEach((call) => call.cancel()),
  'the network fails': () => server.cutConnections(),
};

it.each(Object.keys(cuts))(
  'nothing of an append is written when %s between its messages',
  async (how) => {
    const sent = await Promise.all(Array.from({ length: appends }, (_, index) => sendPart(index)));
    cuts[how]?.(sent.map(({ call }) => call));
    // By the time that this is answered, on another connection, the server has seen the end of the cut calls.
    await store.append('payment-last', 'noStream', [eventToAppend()]);
    // After a cut connection, gRPC may send what it has to a new one and wait for the rest.
    for (const { call } of sent) call.cancel();
    for (const { ended } of sent) expect(await ended).toBeInstanceOf(Error);
    await store.append('payment-last', 0, [eventToAppend()]);
    const streams = await store.readStreams(sent.map((_, index) => streamOf(index)));
    expect(streams.flat()).toEqual([]);
  },
  testTimeoutMs,
);
