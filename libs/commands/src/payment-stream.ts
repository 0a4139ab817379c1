/**
 * A payment as an app moves it from status to status. Every append is decided on the state that was loaded,
 * at that state's revision. A conflict means that another writer was first: load and decide again.
 */
import { type Payment, payment, type PaymentCommand, type PaymentState } from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
} from '@pis/event-store';

/** A payment that exists, at a revision. */
export interface LoadedPayment extends Loaded<PaymentState> {
  readonly state: Payment;
}

/** What caused the commands. Absent parts are taken from the payment's last event. */
export interface Cause {
  readonly eventId?: string;
  readonly traceparent?: string;
}

/** Commands in the order in which they are to be recorded, all or none; none is fine. */
export type Choice = (current: Payment) => readonly PaymentCommand[];

export class PaymentStream {
  private readonly payments;

  /** @param actor who appends, for the metadata of the events: `system:<app>` */
  constructor(
    private readonly store: EventStore,
    private readonly actor: string,
  ) {
    this.payments = repository(store, payment);
  }

  /** @throws StoreUnavailable, PaymentMissing */
  async load(paymentId: string): Promise<LoadedPayment> {
    return existing(await this.payments.load(paymentId), paymentId);
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
    const { paymentId } = current.state;
    const context = this.contextOf(current, cause);
    const recorded = await this.payments.record(paymentId, current, commands, context);
    if ('refused' in recorded) {
      const types = commands.map(({ type }) => type).join(', ');
      throw new Error(`${types}: refused with ${recorded.refused}`);
    }
    return existing(recorded, paymentId);
  }

  /** Loads, chooses and records, again on conflict. `loaded` saves the first load. */
  apply(
    paymentId: string,
    cause: Cause,
    choose: Choice,
    loaded?: LoadedPayment,
  ): Promise<LoadedPayment> {
    return this.againOnConflict(paymentId, async (tries) => {
      const current = tries === 1 && loaded !== undefined ? loaded : await this.load(paymentId);
      return this.record(current, choose(current.state), cause);
    });
  }

  /** For an attempt that does more than choose commands. See `againOnConflict` of the event store. */
  againOnConflict<Result>(
    paymentId: string,
    attempt: (tries: number) => Promise<Result>,
  ): Promise<Result> {
    return againOnConflict(this.store, this.payments.streamIdOf(paymentId), attempt);
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

function existing(loaded: Loaded<PaymentState>, paymentId: string): LoadedPayment {
  const { state, revision, lastEvent } = loaded;
  if (state === null) throw new PaymentMissing(paymentId);
  return { state, revision, lastEvent };
}
