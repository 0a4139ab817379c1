/**
 * Moves a payment along by hand, for the sandbox (rule sandbox-16). What a bank would report is reported by the
 * simulated bank, so that its books agree with the payment. The answer does not wait for the report: the event
 * is appended here, and the executor finds it recorded when the report arrives.
 */
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
import { type CommandContext, repository } from '@pis/event-store';
import { now, type OwnWrites, type UseCaseOptions } from './use-case.js';

export interface NotAllowedInStatus extends Refusal<'NOT_ALLOWED_IN_STATUS'> {
  readonly status: PaymentStatus;
}

export type PaymentSimulationRefusal = Refusal<'PAYMENT_NOT_FOUND'> | NotAllowedInStatus;

export interface PaymentSimulationOptions extends Pick<UseCaseOptions, 'store' | 'ownWrites'> {
  /** Has the simulated bank report about the transfer of a rail reference. */
  readonly report: (reference: string, report: ReportByHand) => Promise<ReportByHandResult>;
}

export class PaymentSimulation {
  private readonly payments;
  private readonly ownWrites: OwnWrites;
  private readonly report: PaymentSimulationOptions['report'];

  constructor({ store, ownWrites, report }: PaymentSimulationOptions) {
    this.payments = repository(store, payments);
    this.ownWrites = ownWrites;
    this.report = report;
  }

  /** @throws StoreUnavailable */
  async simulate(
    organizationId: string,
    paymentId: string,
    request: SimulateRequest,
    context: CommandContext,
  ): Promise<Payment | PaymentSimulationRefusal> {
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
    const { status } = state;
    const from = onlyFrom[request.outcome];
    if (from !== null && status !== from) return { refused: 'NOT_ALLOWED_IN_STATUS', status };

    const command = commandOf(request, now());
    const notAllowed = { refused: 'NOT_ALLOWED_IN_STATUS', status } as const;
    if (isRefusal(payments.decide(command, state))) return notAllowed;
    // The bank first: after a crash in between, its report moves the payment.
    const report = reportOf(request);
    if (report !== null && state.railReference !== null) {
      const told = await this.report(state.railReference, report);
      // The bank may also not have it yet: then only the payment is moved.
      if (told === 'contradicts') return notAllowed;
    }
    const moved = await this.payments.execute(paymentId, command, context);
    if ('refused' in moved || moved.state === null)
      return (await this.movedMeanwhile(paymentId, request)) ?? notAllowed;
    this.ownWrites.note('payments', organizationId, moved.position);
    return moved.state;
  }

  /** The payment, if the executor has recorded the bank's report before we could. */
  private async movedMeanwhile(
    paymentId: string,
    { outcome }: SimulateRequest,
  ): Promise<Payment | null> {
    const { state } = await this.payments.load(paymentId);
    return state?.status === statusAfter[outcome] ? state : null;
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
