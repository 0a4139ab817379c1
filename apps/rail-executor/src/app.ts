import { defineApp, railsEnv } from '@pis/service-kit';
import { RailExecutorModule } from './rail-executor.module.js';

export const railExecutor = defineApp({
  name: 'rail-executor',
  env: railsEnv,
  required: ['PIS_BANK_URL'],
  consumers: ['rail-executor'],
  module: (config) => RailExecutorModule.register(config),
});
