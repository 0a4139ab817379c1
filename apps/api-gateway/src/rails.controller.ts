import { railRejectionText, type RailSelection } from '@pis/bank-rails';
import { PaymentCreation } from '@pis/commands';
import { evaluateRails, type PaymentCreateRequest, type RailEvaluationView } from '@pis/contracts';
import { answer, type Answer, Body, Caller, granted, Operation } from '@pis/http-api';
import { Controller, Inject } from '@nestjs/common';

@Controller()
export class RailsController {
  constructor(@Inject(PaymentCreation) private readonly creation: PaymentCreation) {}

  @Operation(evaluateRails)
  async evaluate(
    @Caller() { organizationId }: Caller,
    @Body() body: PaymentCreateRequest,
  ): Promise<Answer<RailEvaluationView>> {
    return answer(viewOf(granted(await this.creation.evaluateRails(organizationId, body))));
  }
}

function viewOf({ paymentRail, decision }: RailSelection): RailEvaluationView {
  const { isPossible, achService, expectedSettlementAt, nextCutoffAt, rejected } = decision;
  return {
    paymentRail: isPossible ? paymentRail : null,
    achService,
    expectedSettlementAt,
    nextCutoffAt,
    rejectedRails: rejected.map((rail) => ({ ...rail, reason: railRejectionText(rail) })),
  };
}
