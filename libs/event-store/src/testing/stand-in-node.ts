/** What one node of the EventStoreDB stand-in knows: its log, its place in the cluster, its faults. */
import type { Metadata, ServiceError } from '@grpc/grpc-js';
import type { StandInAccess } from './stand-in-access.js';
import { type StandInFaults, notLeader, notReady } from './stand-in-faults.js';
import type { LoggedEvent, StandInLog } from './stand-in-log.js';

/** The nodes that share a log, and which of them leads; null while none does. */
export interface StandInCluster {
  readonly log: StandInLog;
  readonly members: StandInNode[];
  leader: StandInNode | null;
}

/** A subscription that this node serves now. */
export interface OpenSubscription {
  /** Without an error when null. */
  end(error: ServiceError | null): void;
  fallBehind(): void;
}

export class StandInNode {
  readonly faults: StandInFaults = { append: null, read: null, noPlace: 'named' };
  readonly subscriptions = new Set<OpenSubscription>();
  /** Calls that were answered, appends and reads. */
  answered = 0;
  isAlive = true;
  port = 0;
  /** The part of the log that it has as a follower: all of it unless it lags. */
  #has: number | null = null;

  constructor(
    readonly cluster: StandInCluster,
    readonly access: StandInAccess | null,
    /** How long the server waits for an append to be committed; 2 s in the real one. */
    readonly commitTimeoutMs: number,
  ) {}

  get isLeader(): boolean {
    return this.cluster.leader === this;
  }

  /** From now on it gets nothing from the leader. */
  lag(): void {
    this.#has = this.cluster.log.events.length;
  }

  catchUp(): void {
    this.#has = null;
  }

  /** Whether it can show this event: the leader has them all. */
  has(event: LoggedEvent): boolean {
    const { events } = this.cluster.log;
    return this.isLeader || this.#has === null || events.indexOf(event) < this.#has;
  }

  /** Why this node refuses the call; null when it accepts it. */
  refusal(metadata: Metadata): ServiceError | null {
    if (this.isLeader) return null;
    const requiresLeader = metadata.get('requires-leader').includes('true');
    if (!requiresLeader) return null;
    const { leader } = this.cluster;
    return leader === null ? notReady() : notLeader({ host: '127.0.0.1', port: leader.port });
  }
}
