import { defineApp } from '@pis/service-kit';
import { PaymentsProjectorModule } from './payments-projector.module.js';

export const paymentsProjector = defineApp({
  name: 'payments-projector',
  env: {},
  consumers: [],
  module: () => PaymentsProjectorModule.register(),
});
