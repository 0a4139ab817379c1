import { defineApp } from '@pis/service-kit';
import { FeeCollectorModule } from './fee-collector.module.js';

export const feeCollector = defineApp({
  name: 'fee-collector',
  env: {},
  consumers: [],
  module: (config) => FeeCollectorModule.register(config),
});
