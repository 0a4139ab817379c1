import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { PaymentSimulation } from '@pis/commands';
import {
  paymentView,
  type PaymentView,
  type SimulateRequest,
  simulateSchema,
  validate,
} from '@pis/contracts';
import { accepted, type Answer, answer, bodyOf, callerOf, contextOf, idIn } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';
import { granted } from './refusals.js';

/** Moves a payment along by hand; registered in the sandbox alone (rule sandbox-16). */
@Controller('v1/sandbox/payments')
export class SandboxController {
  constructor(@Inject(PaymentSimulation) private readonly simulation: PaymentSimulation) {}

  @Post(':id/simulate')
  @HttpCode(200)
  async simulate(@Req() request: FastifyRequest): Promise<Answer<PaymentView>> {
    const { organizationId } = callerOf(request);
    const paymentId = idIn(request, 'paymentId');
    const body = accepted(validate<SimulateRequest>(simulateSchema, bodyOf(request)));
    const context = contextOf(request);
    const moved = await this.simulation.simulate(organizationId, paymentId, body, context);
    return answer(paymentView(granted(moved)));
  }
}
