/**
 * Payments projector: keeps the lists of payments, the index of their events, their figures and
 * their movements of money up with the event store.
 */
import { type DynamicModule, Module } from '@nestjs/common';
import {
  eventsProjection,
  figuresProjection,
  movementsProjection,
  paymentsProjection,
} from '@pis/read-models';
import { projectorOf } from '@pis/service-kit';

@Module({
  providers: [
    projectorOf(paymentsProjection),
    projectorOf(eventsProjection),
    projectorOf(figuresProjection),
    projectorOf(movementsProjection),
  ],
})
export class PaymentsProjectorModule {
  static register(): DynamicModule {
    return { module: PaymentsProjectorModule };
  }
}
