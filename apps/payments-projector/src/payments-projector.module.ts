/** Payments projector: keeps the lists of payments in PostgreSQL up with the event store. */
import { type DynamicModule, Module } from '@nestjs/common';
import { paymentsProjection } from '@pis/read-models';
import { projectorOf } from '@pis/service-kit';

@Module({ providers: [projectorOf(paymentsProjection)] })
export class PaymentsProjectorModule {
  static register(): DynamicModule {
    return { module: PaymentsProjectorModule };
  }
}
