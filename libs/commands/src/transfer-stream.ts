/**
 * A transfer, a payment or a collection, as an app moves it from status to status. Every append is decided on the state that was loaded,
 * at that state's revision. A conflict means that another writer was first: load and decide again.
 *
 * Nobody says whose transfer an ID is: the stream that exists tells. The ID of a payment is derived from its
 * organization and key or random, and that of a collection from its period, so no two transfers share one.
 *
 * Transfers under way are remembered for a short time, so that the bank's answer to one costs no read. A
 * remembered state may be stale. So what it leads to counts only with an append at its revision, which fails
 * if the state is stale. `apply` makes a decision without an append again, on what the store has.
 */
import {
  collection,
  type Payment,
  payment,
  type PaymentCommand,
  type PaymentState,
  type Refusal,
  type TransferOwner,
  transferOwners,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
  WrongExpectedRevision,
} from '@pis/event-store';
import {
  type LoadedTransfer,
  RecentTransfers,
  type RecentTransfersOptions,
  register,
} from './recent-transfers.js';

export type { LoadedTransfer } from './recent-transfers.js';

/** What caused the commands. Absent parts are taken from the transfer's last event. */
export interface Cause {
  readonly eventId?: string;
  readonly traceparent?: string;
}

/** Commands in the order in which they are to be recorded, all or none; none is fine. */
export type Choice = (current: Payment) => readonly PaymentCommand[];

export class TransferStream {
  private readonly streams;
  private readonly recent: RecentTransfers;
  /** States that this process has moved on from. */
  private readonly moved = new WeakSet<LoadedTransfer>();

  /** @param actor who appends, for the metadata of the events: `system:<app>` */
  constructor(
    private readonly store: EventStore,
    private readonly actor: string,
    options: RecentTransfersOptions = {},
  ) {
    this.streams = {
      payment: repository(store, payment),
      collection: repository(store, collection),
    } satisfies Record<TransferOwner, unknown>;
    this.recent = new RecentTransfers(options);
    register(store, this.recent);
  }

  /** What the store has: never a remembered state. @throws StoreUnavailable, TransferMissing */
  async load(transferId: string): Promise<LoadedTransfer> {
    for (const owner of this.likelyOwners(transferId)) {
      const loaded = ofTransfer(await this.streams[owner].load(transferId), owner);
      if (loaded === null) continue;
      this.recent.noted(loaded);
      return loaded;
    }
    throw new TransferMissing(transferId);
  }

  /** All of them, the remembered one first: most transfers cost one read. */
  private likelyOwners(transferId: string): readonly TransferOwner[] {
    const known = this.recent.find(transferId)?.owner;
    if (known === undefined) return transferOwners;
    return [known, ...transferOwners.filter((owner) => owner !== known)];
  }

  /** Forgets all states. Call it when the store was away: it may come back with another history. */
  forget(): void {
    this.recent.clear();
  }

  /**
   * Appends what the commands decide, at the revision that was loaded.
   * @throws WrongExpectedRevision nothing was written
   * @throws StoreUnavailable the outcome is unknown: load again
   * @throws Error when the transfer's status does not allow a command: the caller chose it from that status
   */
  async record(
    current: LoadedTransfer,
    commands: readonly PaymentCommand[],
    cause: Cause,
  ): Promise<LoadedTransfer> {
    const recorded = await this.decided(current, commands, cause);
    if ('refused' in recorded) {
      const types = commands.map(({ type }) => type).join(', ');
      throw new Error(`${types}: refused with ${recorded.refused}`);
    }
    return recorded;
  }

  /**
   * Loads, chooses and records, again on conflict. `loaded` saves the first load, and so does a remembered
   * state that leads to an append.
   * @param choose without side effects: it may be called with a stale state first
   */
  apply(
    transferId: string,
    cause: Cause,
    choose: Choice,
    loaded?: LoadedTransfer,
  ): Promise<LoadedTransfer> {
    return this.againOnConflict(transferId, async (tries) => {
      if (tries > 1) return this.record(...(await this.chosen(transferId, choose)), cause);
      if (loaded !== undefined) return this.record(loaded, choose(loaded.state), cause);
      const recorded = await this.applyToRemembered(transferId, cause, choose);
      return recorded ?? this.record(...(await this.chosen(transferId, choose)), cause);
    });
  }

  /**
   * For work that does more than choose commands. It begins with the remembered state if `suits` allows that. A wait or a failure is
   * no append, so it does not show that the state was stale: unless the work has moved the transfer, the store is asked for more
   * of it. If its status has changed, the work is done on what the store has. Again on conflict.
   */
  work(
    transferId: string,
    suits: (remembered: LoadedTransfer) => boolean,
    work: (current: LoadedTransfer) => Promise<void>,
  ): Promise<void> {
    const doneOn = async (current: LoadedTransfer) => {
      await work(current);
      this.forgetWaiting(current);
    };
    return this.againOnConflict(transferId, async (tries) => {
      const known = tries === 1 ? this.recent.find(transferId) : null;
      if (known === null || !suits(known)) return doneOn(await this.load(transferId));
      const failure = await doneOn(known).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      const isConflict = failure?.error instanceof WrongExpectedRevision;
      if (!isConflict && !this.moved.has(known) && (await this.hasMore(known))) {
        const current = await this.load(transferId);
        if (current.state.status !== known.state.status) return doneOn(current);
      }
      if (failure !== null) throw failure.error;
    });
  }

  /** A transfer that waits leaves its place to others, and is read again when it goes on. */
  private forgetWaiting(current: LoadedTransfer): void {
    const { status, paymentId } = current.state;
    if (status === 'QUEUED' && !this.moved.has(current)) this.recent.forget(paymentId);
  }

  /** Whether the stream goes on after what is known of it. Costs no row when it does not. */
  private async hasMore({ owner, state, revision }: LoadedTransfer): Promise<boolean> {
    const from = revision === 'noStream' ? 0 : revision + 1;
    const options = { from, maxCount: 1, leaveSealed: true };
    const streamId = this.streams[owner].streamIdOf(state.paymentId);
    return (await this.store.readStream(streamId, options)).length > 0;
  }

  /** For an attempt that does more than choose commands. See `againOnConflict` of the event store. */
  againOnConflict<Result>(
    transferId: string,
    attempt: (tries: number) => Promise<Result>,
  ): Promise<Result> {
    // The turns of this process go by transfer, whoever owns it.
    return againOnConflict(this.store, transferId, attempt);
  }

  private async chosen(
    transferId: string,
    choose: Choice,
  ): Promise<[LoadedTransfer, readonly PaymentCommand[]]> {
    const current = await this.load(transferId);
    return [current, choose(current.state)];
  }

  /**
   * Null when no state is remembered, or when it leads to no append: nothing would show that it is stale.
   * @throws as record
   */
  private async applyToRemembered(
    transferId: string,
    cause: Cause,
    choose: Choice,
  ): Promise<LoadedTransfer | null> {
    const remembered = this.recent.find(transferId);
    const commands = remembered === null ? [] : commandsOrNone(choose, remembered.state);
    if (remembered === null || commands.length === 0) return null;
    const recorded = await this.decided(remembered, commands, cause);
    return 'refused' in recorded || recorded.revision === remembered.revision ? null : recorded;
  }

  private async decided(
    current: LoadedTransfer,
    commands: readonly PaymentCommand[],
    cause: Cause,
  ): Promise<LoadedTransfer | Refusal<string>> {
    const { owner, state } = current;
    const context = this.contextOf(current, cause);
    const stream = this.streams[owner];
    const recorded = await stream.record(state.paymentId, current, commands, context);
    if ('refused' in recorded) return recorded;
    if (recorded.revision !== current.revision) this.moved.add(current);
    const moved = ofTransfer(recorded, owner);
    if (moved === null) throw new TransferMissing(state.paymentId);
    this.recent.noted(moved);
    return moved;
  }

  private contextOf({ lastEvent, state }: LoadedTransfer, cause: Cause): CommandContext {
    return {
      actor: this.actor,
      requestId: null,
      correlationId: lastEvent?.metadata.correlationId ?? state.paymentId,
      causationId: cause.eventId ?? lastEvent?.id ?? null,
      traceparent: cause.traceparent ?? lastEvent?.metadata.traceparent ?? null,
    };
  }
}

/** The store has no such transfer. */
export class TransferMissing extends Error {
  override readonly name = 'TransferMissing';
  constructor(transferId: string) {
    super(`payment ${transferId} does not exist`);
  }
}

/** None when the choice fails: it is made again on the loaded state, and fails there if it must. */
function commandsOrNone(choose: Choice, state: Payment): readonly PaymentCommand[] {
  try {
    return choose(state);
  } catch {
    return [];
  }
}

/** Null when there is none. */
function ofTransfer(loaded: Loaded<PaymentState>, owner: TransferOwner): LoadedTransfer | null {
  const { state, revision, lastEvent } = loaded;
  return state === null ? null : { owner, state, revision, lastEvent };
}
