import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import {
  paymentView,
  type PaymentView,
  type SimulateRequest,
  simulateSchema,
  validate,
} from '@pis/contracts';
import { payment as payments, type PaymentCommand, type PaymentStatus } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import {
  accepted,
  answer,
  type Answer,
  ApiError,
  bodyOf,
  callerOf,
  contextOf,
  idIn,
  notFound,
  now,
  OwnWrites,
} from '@pis/http-api';
import { EVENT_STORE } from '@pis/service-kit';
import type { FastifyRequest } from 'fastify';

/** Moves a payment along by hand; registered in the sandbox alone (rule sandbox-16). */
@Controller('v1/sandbox/payments')
export class SandboxController {
  private readonly payments;

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(OwnWrites) private readonly ownWrites: OwnWrites,
  ) {
    this.payments = repository(store, payments);
  }

  @Post(':id/simulate')
  @HttpCode(200)
  async simulate(@Req() request: FastifyRequest): Promise<Answer<PaymentView>> {
    const { organizationId } = callerOf(request);
    const paymentId = idIn(request, 'paymentId');
    const simulated = accepted(validate<SimulateRequest>(simulateSchema, bodyOf(request)));
    const { state } = await this.payments.load(paymentId);
    if (state?.organizationId !== organizationId) throw notFound('payment');
    // FAILED_IN_FLIGHT leads to COMPLETED by a late confirmation alone.
    const from = onlyFrom[simulated.outcome];
    if (from !== undefined && state.status !== from) throw notInStatus(state.status);

    const command = commandOf(simulated, now());
    const moved = await this.payments.execute(paymentId, command, contextOf(request));
    if ('refused' in moved || moved.state === null) throw notInStatus(state.status);
    this.ownWrites.note('payments', organizationId, moved.position);
    return answer(paymentView(moved.state));
  }
}

const onlyFrom: Partial<Record<SimulateRequest['outcome'], PaymentStatus>> = {
  complete: 'PROCESSING',
  late_confirm: 'FAILED_IN_FLIGHT',
};

function notInStatus(status: PaymentStatus): ApiError {
  return new ApiError('CONFLICT', `a payment that is ${status} cannot be moved so`);
}

function commandOf({ outcome, returnReasonCode }: SimulateRequest, at: string): PaymentCommand {
  switch (outcome) {
    case 'complete':
    case 'late_confirm':
      return { type: 'CompletePayment', at, data: {} };
    case 'return':
      return { type: 'ReturnPayment', at, data: { returnReasonCode } };
    case 'time_out':
      return {
        type: 'FailPaymentInFlight',
        at,
        data: { failureReason: 'No confirmation within the normal time (simulated).' },
      };
    case 'fail': {
      const reason = 'An internal error prevented the payment (simulated).';
      const data = {
        failureCode: 'INTERNAL_ERROR',
        failureMessage: reason,
        failureReason: reason,
      } as const;
      return { type: 'FailPayment', at, data };
    }
  }
}
