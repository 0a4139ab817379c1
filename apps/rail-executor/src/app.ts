import { defineApp, railsEnv } from '@pis/service-kit';
import { RailExecutorModule } from './rail-executor.module.js';

export const railExecutor = defineApp({
  name: 'rail-executor',
  env: railsEnv,
  consumers: ['rail-executor'],
  module: (config) => RailExecutorModule.register(config),
});
