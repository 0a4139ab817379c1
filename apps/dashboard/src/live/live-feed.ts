/**
 * What happens to payments and approvals, told to the open dashboards of this process. One reader follows the log for all
 * of them, and only while there are any.
 *
 * A change says which payment has which status: no personal data. Whoever listens asks for the rest. When the
 * reader begins, or begins again, listeners are told to refresh, because what happened before was not seen.
 */
import {
  type ApprovalEvent,
  type PaymentEvent,
  paymentEventTypeOf,
  type PaymentStatus,
  statusAfter,
  streamPrefixOf,
} from '@pis/domain';
import type { EventStore, LogPage, Position, RecordedEvent } from '@pis/event-store';
import { BoundedMap } from '@pis/http-api';
import { paymentOwners } from '@pis/read-models';
import { Repeating } from '@pis/service-kit';
import type pg from 'pg';

export interface LiveChange {
  readonly paymentId: string;
  /** For example `payment.completed`. */
  readonly type: string;
  readonly status: PaymentStatus;
}

export interface LiveListener {
  /** In the order of the log. */
  changed(changes: readonly LiveChange[]): void;
  /** Of the organization. */
  approvalsChanged(): void;
  /** Something may have been missed. */
  refresh(): void;
}

export interface LiveFeedOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  /** Called before the listeners, so that what they ask for includes the change. */
  readonly onSeen: (
    writeKey: 'payments' | 'directory',
    organizationId: string,
    position: Position,
  ) => void;
  readonly onFailure: (error: unknown) => void;
}

const streamPrefix = streamPrefixOf('payment');
const approvalPrefix = streamPrefixOf('approval');
const pageMax = 500;
const againMs = 2_000;
/** Organizations of payments that are remembered. */
const ownersMax = 20_000;

type Listeners = Map<string, Set<LiveListener>>;

export class LiveFeed {
  private readonly listeners: Listeners = new Map();
  private readonly owners = new BoundedMap<string, string>(ownersMax);
  private reader: Repeating | null = null;
  private isFollowing = false;

  constructor(private readonly options: LiveFeedOptions) {}

  /** @returns ends it */
  listen(organizationId: string, listener: LiveListener): () => void {
    const ofOrganization = this.listeners.get(organizationId) ?? new Set();
    this.listeners.set(organizationId, ofOrganization.add(listener));
    if (this.reader === null) this.start();
    else if (this.isFollowing) listener.refresh();
    return () => {
      ofOrganization.delete(listener);
      if (ofOrganization.size === 0) this.listeners.delete(organizationId);
      if (this.listeners.size === 0) void this.stop();
    };
  }

  /** Resolves when the reader has ended. */
  async stop(): Promise<void> {
    const { reader } = this;
    this.reader = null;
    this.isFollowing = false;
    await reader?.stop();
  }

  private start(): void {
    this.reader = new Repeating({
      round: async (signal) => {
        await this.follow(signal);
        return againMs;
      },
      failed: (error) => {
        this.options.onFailure(error);
        return againMs;
      },
    });
    this.reader.start();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const { store } = this.options;
    const after = await store.lastPosition();
    // Another reader may have begun since.
    if (signal.aborted) return;
    this.isFollowing = true;
    for (const ofOrganization of this.listeners.values())
      for (const listener of ofOrganization) listener.refresh();
    for await (const page of store.subscribe({
      after,
      streamPrefixes: [streamPrefix, approvalPrefix],
      pageMax,
      signal,
    })) {
      const changes = await this.changesOf(page);
      const askers = await this.approvalOwnersIn(page);
      if (signal.aborted) return;
      this.announce(changes, lastOf(page, streamPrefix));
      for (const organizationId of askers) {
        this.options.onSeen('directory', organizationId, lastOf(page, approvalPrefix));
        for (const listener of this.listeners.get(organizationId) ?? [])
          listener.approvalsChanged();
      }
    }
  }

  private announce(changes: ReadonlyMap<string, readonly LiveChange[]>, position: Position): void {
    for (const [organizationId, ofOrganization] of changes) {
      const listening = this.listeners.get(organizationId);
      if (listening === undefined) continue;
      this.options.onSeen('payments', organizationId, position);
      for (const listener of listening) listener.changed(ofOrganization);
    }
  }

  /** By organization. */
  private async changesOf({ events }: LogPage): Promise<ReadonlyMap<string, LiveChange[]>> {
    const seen = events.flatMap((event) => {
      const change = changeOf(event);
      return change === null ? [] : [{ event, change }];
    });
    for (const { event, change } of seen) {
      const owner = ownerIn(event);
      if (owner !== null) this.owners.set(change.paymentId, owner);
    }
    const ids = new Set(seen.map(({ change }) => change.paymentId));
    const known = await this.ownersOf([...ids]);
    const changes = new Map<string, LiveChange[]>();
    for (const { change } of seen) {
      const owner = known.get(change.paymentId);
      if (owner === undefined) continue;
      changes.set(owner, [...(changes.get(owner) ?? []), change]);
    }
    return changes;
  }

  /** The organizations of the approvals among the events. There are few. */
  private async approvalOwnersIn({ events }: LogPage): Promise<ReadonlySet<string>> {
    const streams = new Set(events.map(({ streamId }) => streamId));
    const owners = new Set<string>();
    for (const stream of streams) {
      if (!stream.startsWith(approvalPrefix)) continue;
      const id = stream.slice(approvalPrefix.length);
      const owner = this.owners.get(id) ?? (await this.firstOwnerIn(stream));
      if (owner === null) continue;
      this.owners.set(id, owner);
      owners.add(owner);
    }
    return owners;
  }

  private async firstOwnerIn(stream: string): Promise<string | null> {
    const page = { maxCount: 1, leaveSealed: true };
    const [first] = await this.options.store.readStream(stream, page);
    return first === undefined ? null : ownerIn(first);
  }

  /** A payment that began before this reader is in the list by now, or its stream says whose it is. */
  private async ownersOf(paymentIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { pool } = this.options;
    const known = new Map<string, string>();
    const unknown: string[] = [];
    for (const id of paymentIds) {
      const owner = this.owners.get(id);
      if (owner === undefined) unknown.push(id);
      else known.set(id, owner);
    }
    if (unknown.length === 0) return known;
    for (const [id, owner] of await paymentOwners(pool, unknown)) known.set(id, owner);
    for (const id of unknown.filter((one) => !known.has(one))) {
      const owner = await this.firstOwnerIn(`${streamPrefix}${id}`);
      if (owner !== null) known.set(id, owner);
    }
    for (const id of unknown) {
      const owner = known.get(id);
      if (owner !== undefined) this.owners.set(id, owner);
    }
    return known;
  }
}

/**
 * The position of the last event of such a stream. A page may end with events of other streams, which the checkpoint of a
 * projection in another process need not pass before more happens.
 */
function lastOf({ events, position }: LogPage, prefix: string): Position {
  return events.findLast(({ streamId }) => streamId.startsWith(prefix))?.position ?? position;
}

/** Null for a note, and for an event of a later release. */
function changeOf({ streamId, type }: RecordedEvent): LiveChange | null {
  if (!streamId.startsWith(streamPrefix) || !isStatusEvent(type)) return null;
  const status = statusAfter[type];
  return {
    paymentId: streamId.slice(streamPrefix.length),
    type: paymentEventTypeOf(status),
    status,
  };
}

function isStatusEvent(type: string): type is keyof typeof statusAfter {
  return Object.hasOwn(statusAfter, type);
}

const firstEvents: readonly string[] = [
  'PaymentQueued',
  'PaymentAwaitingConfirmation',
  'ApprovalRequested',
] satisfies readonly (PaymentEvent['type'] | ApprovalEvent['type'])[];

function ownerIn({ type, data }: RecordedEvent): string | null {
  const { organizationId } = data;
  return firstEvents.includes(type) && typeof organizationId === 'string' ? organizationId : null;
}
