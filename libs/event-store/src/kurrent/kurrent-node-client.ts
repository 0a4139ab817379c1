/** Finds the nodes of an EventStoreDB and connects to one of them, with the successor client. */
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import type { ServerFeaturesClient } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { CallOptions, Metadata } from '@grpc/grpc-js';
import { KurrentDBClient, UnavailableError } from '@kurrent/kurrentdb-client';
import type { EventStoreDbUrl } from '../eventstoredb/connection-string.js';
import { type NodeClient, channelOf, gossipTimeoutDefaultS } from '../eventstoredb/node-client.js';

/** @throws TypeError for a file of the URL that cannot be read */
export function kurrentNodeClient(url: EventStoreDbUrl): NodeClient {
  return new KurrentNodeClient(url);
}

/** Reads use a native client of their own, see native-reads.ts. This connection's native client is unused. */
const noNativeClient: KurrentDBClient['rustClient'] = {
  readStream: () => {
    throw new TypeError('this connection does not read');
  },
  readAll: () => {
    throw new TypeError('this connection does not read');
  },
};

class KurrentNodeClient extends KurrentDBClient implements NodeClient {
  constructor(url: EventStoreDbUrl) {
    const { endpoints, first, channel } = channelOf(url);
    const native = noNativeClient;
    const credentials = url.credentials ?? undefined;
    const options = { gossipTimeout: gossipTimeoutDefaultS, ...url.settings };
    if (url.discover) super(native, { ...options, discover: first }, channel, credentials);
    else if (endpoints.length === 1)
      super(native, { ...options, endpoint: first }, channel, credentials);
    else super(native, { ...options, endpoints }, channel, credentials);
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
