import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { topics } from '@pis/contracts';
import { consumerGroup, MessageContext } from '@pis/messaging';
import { RailExecutor } from './rail-executor.js';

@Controller()
export class PaymentQueuedController {
  constructor(@Inject(RailExecutor) private readonly executor: RailExecutor) {}

  @EventPattern<string>(topics.payments, consumerGroup('rail-executor'))
  async handle(@Payload() value: unknown, @Ctx() context: MessageContext): Promise<void> {
    await this.executor.handle(value, context.getDelivery());
  }
}
