/**
 * A stand-in for an EventStoreDB server: the real protocol over real gRPC, on the service definitions
 * that the client package ships, with a log in memory and faults on demand. EventStoreDB itself cannot
 * be had from a package registry; the conformance suite runs against a real one when EVENTSTOREDB_URL
 * names it.
 *
 * Clients connect through a small TCP relay, so that a connection can be cut as a network cuts it.
 */
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import persistentService from '@eventstore/db-client/generated/persistent_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import grpc, { type sendUnaryData } from '@grpc/grpc-js';
import { append, batchAppend } from './stand-in-appends.js';
import type { StandInFaults } from './stand-in-faults.js';
import { StandInLog } from './stand-in-log.js';
import { type PersistentGroups, createGroup, readGroup } from './stand-in-persistent.js';
import { read } from './stand-in-reads.js';

export type { Fault, StandInFaults } from './stand-in-faults.js';

export interface EventStoreDbStandIn {
  /** `esdb://127.0.0.1:<port>?tls=false` */
  readonly url: string;
  readonly port: number;
  readonly faults: StandInFaults;
  readonly groups: PersistentGroups;
  /** Connections there are now. */
  connections(): number;
  /** Breaks every connection there is; new ones are accepted. */
  cutConnections(): void;
  /** While refused, new connections are closed at once; those there are stay. */
  refuseConnections(refused: boolean): void;
  stop(): Promise<void>;
}

const messageMaxBytes = 17 * 1024 * 1024;

export async function startEventStoreDbStandIn(
  options: { readonly port?: number } = {},
): Promise<EventStoreDbStandIn> {
  const faults: StandInFaults = { append: null, read: null };
  const groups: PersistentGroups = new Map();
  const log = new StandInLog();
  const server = new grpc.Server({ 'grpc.max_receive_message_length': messageMaxBytes });
  // Methods that are not given answer UNIMPLEMENTED.
  server.addService(streamsService.StreamsService, {
    append: append({ log, faults }),
    batchAppend: batchAppend({ log, faults }),
    read: read({ log, faults }),
  });
  server.addService(persistentService.PersistentSubscriptionsService, {
    create: createGroup(groups),
    read: readGroup({ log, groups }),
  });
  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods });
  const grpcPort = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });

  const sockets = new Set<Socket>();
  let refused = false;
  const relay = createServer({ noDelay: true }, (client) => {
    if (refused) return void client.destroy();
    const upstream = connect({ port: grpcPort, host: '127.0.0.1', noDelay: true });
    sockets.add(client);
    const cut = () => {
      sockets.delete(client);
      client.destroy();
      upstream.destroy();
    };
    client.on('error', cut).on('close', cut);
    upstream.on('error', cut).on('close', cut);
    client.pipe(upstream).pipe(client);
  });
  const port = await listen(relay, options.port ?? 0);

  const cutConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `esdb://127.0.0.1:${port}?tls=false`,
    port,
    faults,
    groups,
    connections: () => sockets.size,
    cutConnections,
    refuseConnections: (whether) => {
      refused = whether;
    },
    stop: async () => {
      const closed = once(relay, 'close');
      relay.close();
      cutConnections();
      server.forceShutdown();
      await closed;
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function getSupportedMethods(_call: unknown, callback: sendUnaryData<SupportedMethods>): void {
  const supported = new features.SupportedMethods();
  supported.setEventStoreServerVersion('24.10.0');
  const streams = 'event_store.client.streams.Streams';
  const persistent = 'event_store.client.persistent_subscriptions.PersistentSubscriptions';
  for (const [service, name] of [
    [streams, 'append'],
    [streams, 'batchappend'],
    [streams, 'read'],
    [persistent, 'create'],
    [persistent, 'read'],
  ] as const) {
    const method = new features.SupportedMethod();
    method.setServiceName(service);
    method.setMethodName(name);
    // Persistent subscriptions to $all.
    if (service === persistent) method.addFeatures('all');
    supported.addMethods(method);
  }
  callback(null, supported);
}
