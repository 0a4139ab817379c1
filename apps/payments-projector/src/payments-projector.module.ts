/**
 * Payments projector: keeps the lists of payments, the index of their events, their figures,
 * their movements of money and their history up with the event store.
 */
import { type DynamicModule, Module } from '@nestjs/common';
import {
  eventsProjection,
  figuresProjection,
  historyProjection,
  movementsProjection,
  paymentsProjection,
} from '@pis/read-models';
import { projectorOf } from '@pis/service-kit';

/** Each of them holds a connection to PostgreSQL. */
export const projections = [
  paymentsProjection,
  eventsProjection,
  figuresProjection,
  movementsProjection,
  historyProjection,
] as const;

@Module({ providers: projections.map((projection) => projectorOf(projection)) })
export class PaymentsProjectorModule {
  static register(): DynamicModule {
    return { module: PaymentsProjectorModule };
  }
}
