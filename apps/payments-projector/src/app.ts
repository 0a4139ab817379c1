import { databasePool, defineApp } from '@pis/service-kit';
import { PaymentsProjectorModule, projections } from './payments-projector.module.js';

/** The connections to PostgreSQL that it holds all the time. */
export const heldConnections = projections.length;

export const paymentsProjector = defineApp({
  name: 'payments-projector',
  env: { PIS_DATABASE_POOL: databasePool(heldConnections) },
  consumers: [],
  module: () => PaymentsProjectorModule.register(),
});
