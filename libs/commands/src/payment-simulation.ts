/**
 * Moves a payment along by hand, for the sandbox (rule sandbox-16). What a bank would report is reported by the
 * simulated bank, so that its books agree with the payment. The answer does not wait for the report: the event
 * is appended here, and the executor finds it recorded when the report arrives.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ReportByHand, ReportByHandResult } from '@pis/bank-rails/sandbox';
import { simulatedOutcomes, type SimulateRequest } from '@pis/contracts';
import {
  isRefusal,
  type Payment,
  payment as payments,
  type PaymentCommand,
  type PaymentStatus,
  type Refusal,
  unreachable,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  repository,
} from '@pis/event-store';
import { now, type OwnWrites, type UseCaseOptions } from './use-case.js';

export interface NotAllowedInStatus extends Refusal<'NOT_ALLOWED_IN_STATUS'> {
  readonly status: PaymentStatus;
}

export type PaymentSimulationRefusal = Refusal<'PAYMENT_NOT_FOUND'> | NotAllowedInStatus;

export interface PaymentSimulationOptions extends Pick<UseCaseOptions, 'store' | 'ownWrites'> {
  /** Has the simulated bank report about the transfer of a rail reference. */
  readonly report: (reference: string, report: ReportByHand) => Promise<ReportByHandResult>;
  /** How long a transfer that was claimed may take to the bank. */
  readonly takenWithinMs?: number;
}

const takenWithinDefaultMs = 3_000;
const askAgainMs = 20;

export class PaymentSimulation {
  private readonly payments;
  private readonly store: EventStore;
  private readonly ownWrites: OwnWrites;

  constructor(private readonly options: PaymentSimulationOptions) {
    const { store, ownWrites } = options;
    this.store = store;
    this.payments = repository(store, payments);
    this.ownWrites = ownWrites;
  }

  /** @throws StoreUnavailable */
  async simulate(
    organizationId: string,
    paymentId: string,
    request: SimulateRequest,
    context: CommandContext,
  ): Promise<Payment | PaymentSimulationRefusal> {
    // The bank is told once.
    let isTold = false;
    const streamId = this.payments.streamIdOf(paymentId);
    return againOnConflict(this.store, streamId, async () => {
      const loaded = await this.payments.load(paymentId);
      const { state } = loaded;
      if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
      const { status, railReference } = state;
      // The executor has recorded the bank's report before we could.
      if (isTold && status === statusAfter[request.outcome]) return state;
      const notAllowed = { refused: 'NOT_ALLOWED_IN_STATUS', status } as const;
      const from = onlyFrom[request.outcome];
      if (from !== null && status !== from) return notAllowed;
      const command = commandOf(request, now());
      if (isRefusal(payments.decide(command, state))) return notAllowed;
      const report = reportOf(request);
      // The bank first: after a crash in between, its report moves the payment.
      if (report !== null && railReference !== null && !isTold) {
        const told = await this.tell(railReference, report, status);
        // What the bank may still get may still be executed, so it has not failed. Otherwise only the payment is moved.
        if (told === 'contradicts' || (told === 'unknown' && request.outcome === 'fail'))
          return notAllowed;
        isTold = told === 'reported';
      }
      // At the revision that was read: the executor may have claimed the payment since.
      const moved = await this.payments.record(paymentId, loaded, [command], context);
      if ('refused' in moved || moved.state === null) return notAllowed;
      this.ownWrites.note('payments', organizationId, moved.position);
      return moved.state;
    });
  }

  /** A payment is PROCESSING a moment before the bank has its file or message. */
  private async tell(
    reference: string,
    report: ReportByHand,
    status: PaymentStatus,
  ): Promise<ReportByHandResult> {
    const { takenWithinMs = takenWithinDefaultMs } = this.options;
    const endMs = performance.now() + (status === 'PROCESSING' ? takenWithinMs : 0);
    for (;;) {
      const told = await this.options.report(reference, report);
      if (told !== 'unknown' || performance.now() >= endMs) return told;
      await delay(askAgainMs);
    }
  }
}

/** Outcomes that are narrower than the domain's command: FAILED_IN_FLIGHT is completed by a late confirmation alone. */
const onlyFrom = {
  complete: 'PROCESSING',
  late_confirm: 'FAILED_IN_FLIGHT',
  return: null,
  time_out: null,
  fail: null,
} as const satisfies Record<SimulateRequest['outcome'], PaymentStatus | null>;

const statusAfter = {
  complete: 'COMPLETED',
  late_confirm: 'COMPLETED',
  return: 'RETURNED',
  time_out: 'FAILED_IN_FLIGHT',
  fail: 'FAILED',
} as const satisfies Record<SimulateRequest['outcome'], PaymentStatus>;

/** The outcomes that the payment's state allows. The books of the simulated bank may still say otherwise. */
export function possibleOutcomes(state: Payment): readonly SimulateRequest['outcome'][] {
  return simulatedOutcomes.filter((outcome) => {
    const from = onlyFrom[outcome];
    const command = commandOf({ outcome, returnReasonCode: null }, now());
    return (from === null || from === state.status) && !isRefusal(payments.decide(command, state));
  });
}

/** What the bank would report. Null for what happens without it. */
function reportOf({ outcome, returnReasonCode }: SimulateRequest): ReportByHand | null {
  switch (outcome) {
    case 'complete':
    case 'late_confirm':
      return { type: 'confirmed' };
    case 'return':
      return { type: 'returned', returnReasonCode };
    case 'fail':
      return { type: 'rejected' };
    case 'time_out':
      return null;
    default:
      return unreachable(outcome);
  }
}

function commandOf({ outcome, returnReasonCode }: SimulateRequest, at: string): PaymentCommand {
  switch (outcome) {
    case 'complete':
    case 'late_confirm':
      return { type: 'CompletePayment', at, data: {} };
    case 'return':
      return { type: 'ReturnPayment', at, data: { returnReasonCode } };
    case 'time_out': {
      const failureReason = 'No confirmation within the normal time (simulated).';
      return { type: 'FailPaymentInFlight', at, data: { failureReason } };
    }
    case 'fail': {
      const reason = 'An internal error prevented the payment (simulated).';
      const data = {
        failureCode: 'INTERNAL_ERROR',
        failureMessage: reason,
        failureReason: reason,
      } as const;
      return { type: 'FailPayment', at, data };
    }
    default:
      return unreachable(outcome);
  }
}
