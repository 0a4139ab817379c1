/**
 * A payment as an app moves it from status to status. Every append is decided on the state that was loaded,
 * at that state's revision. A conflict means that another writer was first: load and decide again.
 *
 * Payments under way are remembered for a short time, so that the bank's answer to one costs no read. A
 * remembered state may be stale. So what it leads to counts only with an append at its revision, which fails
 * if the state is stale. `apply` makes a decision without an append again, on what the store has.
 */
import {
  type Payment,
  payment,
  type PaymentCommand,
  type PaymentState,
  type Refusal,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
} from '@pis/event-store';
import {
  type LoadedPayment,
  RecentPayments,
  type RecentPaymentsOptions,
} from './recent-payments.js';

export type { LoadedPayment } from './recent-payments.js';

/** What caused the commands. Absent parts are taken from the payment's last event. */
export interface Cause {
  readonly eventId?: string;
  readonly traceparent?: string;
}

/** Commands in the order in which they are to be recorded, all or none; none is fine. */
export type Choice = (current: Payment) => readonly PaymentCommand[];

export class PaymentStream {
  private readonly payments;
  private readonly recent: RecentPayments;

  /** @param actor who appends, for the metadata of the events: `system:<app>` */
  constructor(
    private readonly store: EventStore,
    private readonly actor: string,
    options: RecentPaymentsOptions = {},
  ) {
    this.payments = repository(store, payment);
    this.recent = new RecentPayments(options);
  }

  /** What the store has: never a remembered state. @throws StoreUnavailable, PaymentMissing */
  async load(paymentId: string): Promise<LoadedPayment> {
    const loaded = existing(await this.payments.load(paymentId), paymentId);
    this.recent.noted(loaded);
    return loaded;
  }

  /**
   * The payment as it was read or written a short time ago, null when that is not known. It may be stale:
   * whatever is final must be an append at its revision.
   */
  remembered(paymentId: string): LoadedPayment | null {
    return this.recent.find(paymentId);
  }

  /** Forgets all states. Call it when the store was away: it may come back with another history. */
  forget(): void {
    this.recent.clear();
  }

  /**
   * Appends what the commands decide, at the revision that was loaded.
   * @throws WrongExpectedRevision nothing was written
   * @throws StoreUnavailable the outcome is unknown: load again
   * @throws Error when the payment's status does not allow a command: the caller chose it from that status
   */
  async record(
    current: LoadedPayment,
    commands: readonly PaymentCommand[],
    cause: Cause,
  ): Promise<LoadedPayment> {
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
    paymentId: string,
    cause: Cause,
    choose: Choice,
    loaded?: LoadedPayment,
  ): Promise<LoadedPayment> {
    return this.againOnConflict(paymentId, async (tries) => {
      if (tries > 1) return this.record(...(await this.chosen(paymentId, choose)), cause);
      if (loaded !== undefined) return this.record(loaded, choose(loaded.state), cause);
      const recorded = await this.applyToRemembered(paymentId, cause, choose);
      return recorded ?? this.record(...(await this.chosen(paymentId, choose)), cause);
    });
  }

  /** For an attempt that does more than choose commands. See `againOnConflict` of the event store. */
  againOnConflict<Result>(
    paymentId: string,
    attempt: (tries: number) => Promise<Result>,
  ): Promise<Result> {
    return againOnConflict(this.store, this.payments.streamIdOf(paymentId), attempt);
  }

  private async chosen(
    paymentId: string,
    choose: Choice,
  ): Promise<[LoadedPayment, readonly PaymentCommand[]]> {
    const current = await this.load(paymentId);
    return [current, choose(current.state)];
  }

  /**
   * Null when no state is remembered, or when it leads to no append: nothing would show that it is stale.
   * @throws as record
   */
  private async applyToRemembered(
    paymentId: string,
    cause: Cause,
    choose: Choice,
  ): Promise<LoadedPayment | null> {
    const remembered = this.recent.find(paymentId);
    const commands = remembered === null ? [] : commandsOrNone(choose, remembered.state);
    if (remembered === null || commands.length === 0) return null;
    const recorded = await this.decided(remembered, commands, cause);
    return 'refused' in recorded || recorded.revision === remembered.revision ? null : recorded;
  }

  private async decided(
    current: LoadedPayment,
    commands: readonly PaymentCommand[],
    cause: Cause,
  ): Promise<LoadedPayment | Refusal<string>> {
    const { paymentId } = current.state;
    const context = this.contextOf(current, cause);
    const recorded = await this.payments.record(paymentId, current, commands, context);
    if ('refused' in recorded) return recorded;
    const moved = existing(recorded, paymentId);
    this.recent.noted(moved);
    return moved;
  }

  private contextOf({ lastEvent, state }: LoadedPayment, cause: Cause): CommandContext {
    return {
      actor: this.actor,
      requestId: null,
      correlationId: lastEvent?.metadata.correlationId ?? state.paymentId,
      causationId: cause.eventId ?? lastEvent?.id ?? null,
      traceparent: cause.traceparent ?? lastEvent?.metadata.traceparent ?? null,
    };
  }
}

/** The store has no such payment. */
export class PaymentMissing extends Error {
  override readonly name = 'PaymentMissing';
  constructor(paymentId: string) {
    super(`payment ${paymentId} does not exist`);
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

function existing(loaded: Loaded<PaymentState>, paymentId: string): LoadedPayment {
  const { state, revision, lastEvent } = loaded;
  if (state === null) throw new PaymentMissing(paymentId);
  return { state, revision, lastEvent };
}
