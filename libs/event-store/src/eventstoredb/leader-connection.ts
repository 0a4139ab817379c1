/**
 * Calls to the leader of an EventStoreDB.
 *
 * A client finds the nodes and connects to them (node-client.ts). The calls are made here, with the service
 * definitions of the official client. Its own calls are not used because of their behavior when a node
 * fails: they reconnect in promises that nobody awaits, and a discovery that fails in one of these ends the
 * process. Its batch append ignores its deadline and keeps the appends of all clients in one table, which
 * an error of any of them empties.
 *
 * Every call requires the leader. A follower lags behind, so its answers must not decide anything. Its
 * refusal also moves a connection from a follower back to the leader.
 */
import { DeadlineExceededError, convertToCommandError } from '@eventstore/db-client';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type {
  AppendReq,
  AppendResp,
  ReadReq,
  ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import { StoreUnavailable } from '../port.js';
import type { EventStoreDbUrl } from './connection-string.js';
import { classified, faultOf, isOfTheConnection, within } from './faults.js';
import { type NodeClient, officialNodeClient } from './node-client.js';

/** How often one call follows a node's redirect to the leader, at most. */
const leaderTriesMax = 4;

/** A subscription's responses, as they come. */
export interface ResponseSink {
  response(response: ReadResp): void;
  /** Called once, at the end; null when the server ended it without an error. */
  ended(error: unknown): void;
}

export interface OpenCall {
  /** Pauses the server once the connection's buffers are full. */
  pause(): void;
  resume(): void;
  cancel(): void;
}

/** One connection to one node. */
interface Node {
  readonly client: NodeClient;
  readonly stub: StreamsClient;
  /** Aborted when the connection was given up. */
  readonly left: AbortController;
  /** The time of its last answer, by performance.now(). */
  answeredAtMs: number;
}

export class LeaderConnection {
  #client: NodeClient;
  #node: Node | null = null;
  readonly #closing = new AbortController();

  /** Connects with the first call. @throws TypeError for a file of the URL that cannot be read */
  constructor(
    private readonly url: EventStoreDbUrl,
    private readonly nodeClient: (url: EventStoreDbUrl) => NodeClient = officialNodeClient,
  ) {
    this.#client = nodeClient(url);
  }

  /** @throws StoreUnavailable, and what the server refuses */
  append(messages: readonly AppendReq[], timeoutMs: number): Promise<AppendResp> {
    return this.#call(timeoutMs, ({ client, stub }, leftMs) => {
      const { promise, resolve, reject } = Promise.withResolvers<AppendResp>();
      const call = stub.append(...client.argumentsOf(leftMs), (error, response) =>
        error === null ? resolve(response) : reject(error),
      );
      // The stream's own error is the callback's; without a listener it would end the process.
      call.on('error', reject);
      for (const message of messages) call.write(message);
      call.end();
      return promise;
    });
  }

  /**
   * @param isEnough asked with each answer: the rest is not read once it is true
   * @throws StoreUnavailable, and what the server refuses
   */
  read(
    request: ReadReq,
    timeoutMs: number,
    isEnough: (response: ReadResp) => boolean = () => false,
  ): Promise<readonly ReadResp[]> {
    return this.#call(timeoutMs, (node, leftMs) => {
      const { client, stub } = node;
      const { promise, resolve, reject } = Promise.withResolvers<readonly ReadResp[]>();
      const responses: ReadResp[] = [];
      const call = stub.read(request, ...client.argumentsOf(leftMs));
      let over = false;
      call
        .on('data', (response: ReadResp) => {
          if (over) return;
          node.answeredAtMs = performance.now();
          responses.push(response);
          over = isEnough(response);
          if (!over) return;
          resolve(responses);
          call.cancel();
        })
        .on('error', reject)
        .on('end', () => resolve(responses));
      return promise;
    });
  }

  /**
   * A read without an end. It ends with an error when this connection is given up for another node.
   * @throws StoreUnavailable when no node is found within `connectTimeoutMs`
   */
  async subscribe(
    request: ReadReq,
    connectTimeoutMs: number,
    sink: ResponseSink,
  ): Promise<OpenCall> {
    const node = await this.#connected(connectTimeoutMs);
    const { client, stub, left } = node;
    const call = stub.read(request, ...client.argumentsOf(null));
    let over = false;
    const end = (error: unknown) => {
      if (over) return;
      over = true;
      left.signal.removeEventListener('abort', leave);
      sink.ended(error);
    };
    const leave = () => {
      end(new StoreUnavailable('the connection to EventStoreDB moved to another node'));
      call.cancel();
    };
    left.signal.addEventListener('abort', leave);
    call
      .on('data', (response: ReadResp) => {
        node.answeredAtMs = performance.now();
        if (!over) sink.response(response);
      })
      .on('error', (error: unknown) => {
        const known = commandError(error);
        if (!over) void this.#leave(node, known, error);
        end(classified(known));
      })
      .on('end', () => end(null));
    return {
      pause: () => void call.pause(),
      resume: () => void call.resume(),
      cancel: () => {
        over = true;
        left.signal.removeEventListener('abort', leave);
        call.cancel();
      },
    };
  }

  /** The version of the node that is connected. @throws StoreUnavailable */
  serverVersion(timeoutMs: number): Promise<string> {
    return this.#call(timeoutMs, async ({ client }, leftMs) => {
      const stub = await client.features();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      stub.getSupportedMethods(new shared.Empty(), ...client.argumentsOf(leftMs), (error, found) =>
        error === null ? resolve(found.getEventStoreServerVersion()) : reject(error),
      );
      return promise;
    });
  }

  close(): void {
    this.#closing.abort();
    this.#node?.left.abort();
    this.#node?.stub.close();
  }

  /** Follows redirects of followers to the leader, within the time limit. */
  async #call<Answer>(
    timeoutMs: number,
    start: (node: Node, leftMs: number) => Promise<Answer>,
  ): Promise<Answer> {
    const endsAtMs = performance.now() + timeoutMs;
    for (let tries = 1; ; tries += 1) {
      const node = await this.#connected(endsAtMs - performance.now());
      const beganAtMs = performance.now();
      try {
        const answer = await start(node, Math.max(1, endsAtMs - beganAtMs));
        node.answeredAtMs = performance.now();
        return answer;
      } catch (error) {
        const known = commandError(error);
        // A call can be slow on a node that answers other calls, which must not be cut.
        const isSlow = isLate(known) && node.answeredAtMs > beganAtMs;
        const left = isSlow ? Promise.resolve() : this.#leave(node, known, error);
        const leftMs = endsAtMs - performance.now();
        if (faultOf(known) !== 'notLeader' || tries >= leaderTriesMax || leftMs <= 0)
          throw classified(known);
        await within(left, leftMs);
      }
    }
  }

  /** @throws StoreUnavailable */
  async #connected(timeoutMs: number): Promise<Node> {
    if (this.#closing.signal.aborted) throw new StoreUnavailable('the store is closed');
    const client = this.#client;
    let stub: StreamsClient;
    try {
      stub = await within(client.stub(), Math.max(1, timeoutMs));
    } catch (error) {
      // A client may remember that its discovery failed. A new client starts again.
      if (!(error instanceof StoreUnavailable) && this.#client === client)
        this.#client = this.nodeClient(this.url);
      throw classified(error);
    }
    if (this.#closing.signal.aborted) {
      stub.close();
      throw new StoreUnavailable('the store is closed');
    }
    if (this.#node?.stub !== stub) {
      this.#node?.left.abort();
      this.#node = { client, stub, left: new AbortController(), answeredAtMs: 0 };
    }
    return this.#node;
  }

  /** `raw` is the original error of gRPC. Never rejects. */
  async #leave(node: Node, known: unknown, raw: unknown): Promise<void> {
    const fault = faultOf(known);
    if (!isOfTheConnection[fault] || this.#closing.signal.aborted) return;
    const notLeader = fault === 'notLeader' && raw instanceof Error ? raw : null;
    await node.client.leave(node.stub, notLeader);
    node.left.abort();
    if (this.#node === node) this.#node = null;
  }
}

function isLate(error: unknown): boolean {
  return error instanceof DeadlineExceededError;
}

/** The client's own error, or the error itself where the client cannot read it. */
function commandError(error: unknown): unknown {
  try {
    return error instanceof Error ? convertToCommandError(error) : error;
  } catch {
    return error;
  }
}
