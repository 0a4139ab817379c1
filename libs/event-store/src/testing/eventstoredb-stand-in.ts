/**
 * A stand-in for an EventStoreDB server: the real protocol over real gRPC, with the service definitions of
 * the client package, a log in memory and faults on demand. EventStoreDB itself is not available from a
 * package registry. When EVENTSTOREDB_URL is set, the conformance suite runs against that real server.
 *
 * Clients connect through a small TCP relay, so that a connection can be cut as a network cuts it.
 */
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import grpc, { type sendUnaryData } from '@grpc/grpc-js';
import { StandInAccess, type StandInUser } from './stand-in-access.js';
import { append } from './stand-in-appends.js';
import {
  type StandInFaults,
  type SubscriptionEnd,
  cancelled,
  notReady,
  unavailable,
} from './stand-in-faults.js';
import { StandInLog } from './stand-in-log.js';
import { type StandInCluster, StandInNode } from './stand-in-node.js';
import { read } from './stand-in-reads.js';

export { type Fault, type StandInFaults, subscriptionEnds } from './stand-in-faults.js';
export type { StandInUser } from './stand-in-access.js';

export interface StandInOptions {
  readonly port?: number;
  /** 2 s in the real server. */
  readonly commitTimeoutMs?: number;
  /** The users that may connect; anyone when absent. Needs `tls`: the clients send no credentials without it. */
  readonly users?: Readonly<Record<string, StandInUser>>;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface EventStoreDbStandIn {
  /** `esdb://127.0.0.1:<port>?tls=false` */
  readonly url: string;
  readonly port: number;
  readonly faults: StandInFaults;
  readonly log: Pick<
    StandInLog,
    'pauseReplication' | 'resumeReplication' | 'dropPrepared' | 'hasPrepared' | 'lose'
  >;
  /** Writes to the end of a stream what none of our adapters would write. */
  write(
    streamId: string,
    event: { readonly id: string; readonly type: string; readonly data: string },
  ): Promise<void>;
  /** Calls that were answered, appends and reads. */
  answered(): number;
  /** Connections there are now. */
  connections(): number;
  /** Breaks every connection there is; new ones are accepted. */
  cutConnections(): void;
  /** While refused, new connections are closed at once. Existing ones stay. */
  refuseConnections(refused: boolean): void;
  /** Connections refused so far. */
  refusals(): number;
  /** Subscriptions that are open now. */
  subscriptions(): number;
  endSubscriptions(how: SubscriptionEnd): void;
  /** Sends every subscriber the message that it fell behind. */
  fallBehind(): void;
  /** From now on it gets nothing from the leader, and shows what it had until then. */
  lag(): void;
  catchUp(): void;
  stop(): Promise<void>;
}

export interface EventStoreDbStandInCluster {
  /** All nodes: `esdb://127.0.0.1:<port>,127.0.0.1:<port>…?tls=false` */
  readonly url: string;
  readonly nodes: readonly EventStoreDbStandIn[];
  /** The leader from now on; none when null. The others follow it. */
  elect(node: EventStoreDbStandIn | null): void;
  stop(): Promise<void>;
}

const messageMaxBytes = 17 * 1024 * 1024;
const commitTimeoutDefaultMs = 100;

export async function startEventStoreDbStandIn(
  options: StandInOptions = {},
): Promise<EventStoreDbStandIn> {
  const cluster: StandInCluster = { log: new StandInLog(), members: [], leader: null };
  const { node, server } = await startNode(cluster, options);
  cluster.leader = node;
  return server;
}

/** Nodes with one log between them; the first one leads. */
export async function startEventStoreDbStandInCluster(
  size = 3,
  options: Omit<StandInOptions, 'port'> = {},
): Promise<EventStoreDbStandInCluster> {
  const cluster: StandInCluster = { log: new StandInLog(), members: [], leader: null };
  const started = await Promise.all(
    Array.from({ length: size }, () => startNode(cluster, options)),
  );
  cluster.leader = started[0]?.node ?? null;
  return {
    url: `esdb://${started.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}?tls=false`,
    nodes: started.map(({ server }) => server),
    elect: (elected) => {
      cluster.leader = started.find(({ server }) => server === elected)?.node ?? null;
    },
    stop: () => Promise.all(started.map(({ server }) => server.stop())).then(() => undefined),
  };
}

async function startNode(
  cluster: StandInCluster,
  { port: wantedPort = 0, commitTimeoutMs = commitTimeoutDefaultMs, users, tls }: StandInOptions,
): Promise<{ readonly node: StandInNode; readonly server: EventStoreDbStandIn }> {
  const access = users === undefined ? null : new StandInAccess(users);
  const node = new StandInNode(cluster, access, commitTimeoutMs);
  cluster.members.push(node);
  const server = await serve(node, tls);
  const relay = await startRelay(server.port, wantedPort);
  node.port = relay.port;
  return {
    node,
    server: {
      url: `esdb://127.0.0.1:${relay.port}?tls=${tls !== undefined}`,
      port: relay.port,
      faults: node.faults,
      log: cluster.log,
      write: async (streamId, { id, type, data }) => {
        const contentType = 'application/json';
        const event = { id, type, contentType, data: Buffer.from(data), metadata: Buffer.alloc(0) };
        const outcome = cluster.log.append(streamId, 'any', [event]);
        if (outcome.done && outcome.committing !== 'repeated') await outcome.committing;
      },
      answered: () => node.answered,
      connections: relay.connections,
      cutConnections: relay.cut,
      refuseConnections: relay.refuse,
      refusals: relay.refusals,
      subscriptions: () => node.subscriptions.size,
      endSubscriptions: (how) => {
        for (const { end } of [...node.subscriptions]) end(errorOf[how]());
      },
      fallBehind: () => {
        for (const { fallBehind } of node.subscriptions) fallBehind();
      },
      lag: () => node.lag(),
      catchUp: () => node.catchUp(),
      stop: async () => {
        node.isAlive = false;
        await relay.stop();
        server.stop();
      },
    },
  };
}

const errorOf = {
  ended: () => null,
  cancelled,
  unavailable,
  notReady,
} as const satisfies Record<SubscriptionEnd, () => grpc.ServiceError | null>;

async function serve(
  node: StandInNode,
  tls: StandInOptions['tls'],
): Promise<{ readonly port: number; readonly stop: () => void }> {
  const server = new grpc.Server({ 'grpc.max_receive_message_length': messageMaxBytes });
  // Methods that are not given answer UNIMPLEMENTED.
  server.addService(streamsService.StreamsService, {
    append: append(node),
    read: read(node),
  });
  server.addService(gossipService.GossipService, { read: members(node.cluster) });
  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials =
      tls === undefined
        ? grpc.ServerCredentials.createInsecure()
        : grpc.ServerCredentials.createSsl(null, [
            { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) },
          ]);
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, stop: () => server.forceShutdown() };
}

async function startRelay(to: number, wantedPort: number) {
  const sockets = new Set<Socket>();
  let refused = false;
  let refusals = 0;
  const relay = createServer({ noDelay: true }, (client) => {
    if (refused) {
      refusals += 1;
      client.destroy();
      return;
    }
    const upstream = connect({ port: to, host: '127.0.0.1', noDelay: true });
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
  const port = await listen(relay, wantedPort);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut,
    connections: () => sockets.size,
    refusals: () => refusals,
    refuse: (whether: boolean) => {
      refused = whether;
    },
    stop: async () => {
      const closed = once(relay, 'close');
      relay.close();
      cut();
      await closed;
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Every node knows all of them, also those that are dead. */
function members(cluster: StandInCluster) {
  return (_call: unknown, callback: sendUnaryData<ClusterInfo>): void => {
    const { FOLLOWER, LEADER } = gossip.MemberInfo.VNodeState;
    const info = new gossip.ClusterInfo();
    for (const node of cluster.members) {
      const endpoint = new gossip.EndPoint();
      endpoint.setAddress('127.0.0.1');
      endpoint.setPort(node.port);
      const member = new gossip.MemberInfo();
      member.setHttpEndPoint(endpoint);
      member.setIsAlive(node.isAlive);
      member.setState(node === cluster.leader ? LEADER : FOLLOWER);
      info.addMembers(member);
    }
    callback(null, info);
  };
}

function getSupportedMethods(_call: unknown, callback: sendUnaryData<SupportedMethods>): void {
  const supported = new features.SupportedMethods();
  supported.setEventStoreServerVersion('24.10.0');
  for (const name of ['append', 'read']) {
    const method = new features.SupportedMethod();
    method.setServiceName('event_store.client.streams.Streams');
    method.setMethodName(name);
    supported.addMethods(method);
  }
  callback(null, supported);
}
