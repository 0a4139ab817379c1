import { Controller, Inject } from '@nestjs/common';
import { PaymentSimulation } from '@pis/commands';
import {
  paymentView,
  type PaymentView,
  simulatePayment,
  type SimulateRequest,
} from '@pis/contracts';
import type { CommandContext } from '@pis/event-store';
import { type Answer, answer, Body, Caller, Context, granted, Id, Operation } from '@pis/http-api';

/** Moves a payment to a status by hand. Registered only in the sandbox (rule sandbox-16). */
@Controller()
export class SandboxController {
  constructor(@Inject(PaymentSimulation) private readonly simulation: PaymentSimulation) {}

  @Operation(simulatePayment)
  async simulate(
    @Caller() { organizationId }: Caller,
    @Context() context: CommandContext,
    @Id('paymentId') paymentId: string,
    @Body() body: SimulateRequest,
  ): Promise<Answer<PaymentView>> {
    const moved = await this.simulation.simulate(organizationId, paymentId, body, context);
    return answer(paymentView(granted(moved)));
  }
}
