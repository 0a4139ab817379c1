/** Moves a payment along by hand, for the sandbox (rule sandbox-16). */
import type { SimulateRequest } from '@pis/contracts';
import {
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

export class PaymentSimulation {
  private readonly payments;
  private readonly ownWrites: OwnWrites;

  constructor({ store, ownWrites }: Pick<UseCaseOptions, 'store' | 'ownWrites'>) {
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
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) return { refused: 'PAYMENT_NOT_FOUND' };
    const { status } = state;
    const from = onlyFrom[request.outcome];
    if (from !== null && status !== from) return { refused: 'NOT_ALLOWED_IN_STATUS', status };

    const command = commandOf(request, now());
    const moved = await this.payments.execute(paymentId, command, context);
    if ('refused' in moved || moved.state === null)
      return { refused: 'NOT_ALLOWED_IN_STATUS', status };
    this.ownWrites.note('payments', organizationId, moved.position);
    return moved.state;
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
