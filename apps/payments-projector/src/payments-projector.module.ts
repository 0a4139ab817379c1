/** Payments projector: keeps the lists of payments and the index of their events up with the event store. */
import { type DynamicModule, Module } from '@nestjs/common';
import { eventsProjection, paymentsProjection } from '@pis/read-models';
import { projectorOf } from '@pis/service-kit';

@Module({ providers: [projectorOf(paymentsProjection), projectorOf(eventsProjection)] })
export class PaymentsProjectorModule {
  static register(): DynamicModule {
    return { module: PaymentsProjectorModule };
  }
}
