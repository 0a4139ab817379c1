/**
 * The payment's stream as this app writes it: every append is decided on the state it was loaded at,
 * and at that revision. A conflict means that somebody else was first: load and decide again.
 */
import {
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
  WrongExpectedRevision,
} from '@pis/event-store';
import {
  isRefusal,
  type Payment,
  payment,
  type PaymentCommand,
  type PaymentEvent,
  type PaymentState,
} from '@pis/domain';

/** A payment that exists, at a revision. */
export interface LoadedPayment extends Loaded<PaymentState> {
  readonly state: Payment;
}

/** What made us act. Absent parts are taken from the payment's last event. */
export interface Cause {
  readonly eventId?: string;
  readonly traceparent?: string;
}

/** Commands in the order in which they are to be recorded, all or none; none is fine. */
export type Choice = (current: Payment) => readonly PaymentCommand[];

const conflictsMax = 10;

/** Runs `work` again while somebody else's append comes first. @throws WrongExpectedRevision after conflictsMax */
export async function againOnConflict<Result>(
  work: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision) || attempt === conflictsMax) throw error;
    }
  }
}

export class PaymentStream {
  private readonly payments;

  constructor(store: EventStore) {
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
   */
  async record(
    current: LoadedPayment,
    commands: readonly PaymentCommand[],
    cause: Cause,
  ): Promise<LoadedPayment> {
    const events: PaymentEvent[] = [];
    let state: PaymentState = current.state;
    for (const command of commands) {
      const decision = payment.decide(command, state);
      if (isRefusal(decision)) throw new Error(`${command.type} was refused: ${decision.refused}`);
      events.push(...decision);
      state = decision.reduce<PaymentState>(
        (before, event) => payment.evolve(before, event),
        state,
      );
    }
    if (events.length === 0) return current;
    const context = contextOf(current, cause);
    const appended = await this.payments.append(current.state.paymentId, current, events, context);
    return existing(appended, current.state.paymentId);
  }

  /** Loads, chooses and records, again on conflict. `loaded` saves the first load. */
  apply(
    paymentId: string,
    cause: Cause,
    choose: Choice,
    loaded?: LoadedPayment,
  ): Promise<LoadedPayment> {
    return againOnConflict(async (attempt) => {
      const current = attempt === 1 && loaded !== undefined ? loaded : await this.load(paymentId);
      return this.record(current, choose(current.state), cause);
    });
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

function contextOf({ lastEvent, state }: LoadedPayment, cause: Cause): CommandContext {
  return {
    actor: 'system:rail-executor',
    requestId: null,
    correlationId: lastEvent?.metadata.correlationId ?? state.paymentId,
    causationId: cause.eventId ?? lastEvent?.id ?? null,
    traceparent: cause.traceparent ?? lastEvent?.metadata.traceparent ?? null,
  };
}
