/**
 * The client that finds the nodes of an EventStoreDB and connects to one of them. The calls themselves
 * are made in leader-connection.ts.
 */
import { readFileSync } from 'node:fs';
import { EventStoreDBClient, UnavailableError } from '@eventstore/db-client';
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { ServerFeaturesClient } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { CallOptions, Metadata } from '@grpc/grpc-js';
import type { EventStoreDbUrl } from './connection-string.js';

/** A hung node delays each round of discovery by this; the clients' own defaults are 3 s and 5 s. */
export const gossipTimeoutDefaultS = 2;

export interface NodeClient {
  /** The calls of the connected node. Connects first if there is none. Rejects when no node is found. */
  stub(): Promise<StreamsClient>;
  features(): Promise<ServerFeaturesClient>;
  /** The options of a call to the leader. A time limit of null means none. */
  argumentsOf(timeoutMs: number | null): [Metadata, CallOptions];
  /**
   * Drops the node's connection, so that the next call connects again: to the leader that the error names,
   * if it names one. Never rejects.
   */
  leave(stub: StreamsClient, notLeader: Error | null): Promise<void>;
}

/** @throws TypeError for a file of the URL that cannot be read */
export function officialNodeClient(url: EventStoreDbUrl): NodeClient {
  return new OfficialNodeClient(url);
}

class OfficialNodeClient extends EventStoreDBClient implements NodeClient {
  constructor(url: EventStoreDbUrl) {
    const { endpoints, first, channel } = channelOf(url);
    const credentials = url.credentials ?? undefined;
    const options = { gossipTimeout: gossipTimeoutDefaultS, ...url.settings };
    if (url.discover) super({ ...options, discover: first }, channel, credentials);
    else if (endpoints.length === 1) super({ ...options, endpoint: first }, channel, credentials);
    else super({ ...options, endpoints }, channel, credentials);
  }

  stub(): Promise<StreamsClient> {
    return this.execute(streams.StreamsClient, 'streams', async (stub) => stub);
  }

  features(): Promise<ServerFeaturesClient> {
    return this.execute(features.ServerFeaturesClient, 'features', async (stub) => stub);
  }

  argumentsOf(timeoutMs: number | null): [Metadata, CallOptions] {
    return this.callArguments({ requiresLeader: true, deadline: timeoutMs ?? Infinity });
  }

  async leave(stub: StreamsClient, notLeader: Error | null): Promise<void> {
    try {
      await this.handleError(stub, notLeader ?? new UnavailableError(undefined, 'no answer'));
    } catch {
      // It awaits the connection that other calls are making. They receive its failure.
    }
  }
}

/** The parts of both clients. @throws TypeError */
export function channelOf({ hosts, tls, tlsCaFile, userCertFile, userKeyFile }: EventStoreDbUrl) {
  const endpoints = hosts.map(({ host, port }) => ({ address: host, port }));
  const [first] = endpoints;
  if (first === undefined) throw new TypeError('EVENTSTOREDB_URL names no host');
  const files = tls
    ? {
        ...fileOf('rootCertificate', tlsCaFile),
        ...fileOf('userCertFile', userCertFile),
        ...fileOf('userKeyFile', userKeyFile),
      }
    : {};
  return { endpoints, first, channel: { insecure: !tls, ...files } };
}

function fileOf<Name extends string>(name: Name, file: string | undefined) {
  if (file === undefined) return {};
  try {
    return { [name]: readFileSync(file) } as Record<Name, Buffer>;
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : `${file} cannot be read`);
  }
}
