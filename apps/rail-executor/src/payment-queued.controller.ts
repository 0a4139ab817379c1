import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { messageHeaders, topics } from '@pis/contracts';
import { consumerGroup, MessageContext, onlyWith } from '@pis/messaging';
import { RailExecutor } from './rail-executor.js';

const onlyQueued = onlyWith({ [messageHeaders.eventType]: 'payment.queued' });

@Controller()
export class PaymentQueuedController {
  constructor(@Inject(RailExecutor) private readonly executor: RailExecutor) {}

  @EventPattern<string>(topics.payments, consumerGroup('rail-executor'), onlyQueued)
  async handle(@Payload() value: unknown, @Ctx() context: MessageContext): Promise<void> {
    await this.executor.handle(value, context.getDelivery());
  }
}
