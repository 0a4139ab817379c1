/** The consumer of statement events: each becomes deliveries to the endpoints that subscribe to it. */
import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { statementIntegrationEventSchema, topics } from '@pis/contracts';
import { consumerGroup, MessageContext, NonRetryable } from '@pis/messaging';
import type { Dispatcher } from './dispatcher.js';
import { DISPATCHER } from './payment-events.controller.js';

@Controller()
export class StatementEventsController {
  constructor(@Inject(DISPATCHER) private readonly dispatcher: Dispatcher) {}

  /** Handled once the deliveries are stored. A message twice makes them once. */
  @EventPattern<string>(topics.statements, consumerGroup('webhook-dispatcher'))
  async handle(@Payload() value: unknown, @Ctx() context: MessageContext): Promise<void> {
    const event = statementIntegrationEventSchema.safeParse(value);
    if (!event.success) {
      const path = event.error.issues[0]?.path.join('.');
      throw new NonRetryable(`not a statement event, see ${path || 'the whole'}`);
    }
    await this.dispatcher.handle(event.data, context.waitingSince());
  }
}
