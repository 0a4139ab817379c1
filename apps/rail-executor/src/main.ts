import { railsEnv, runApp } from '@pis/service-kit';
import { RailExecutorModule } from './rail-executor.module.js';

await runApp({
  name: 'rail-executor',
  env: railsEnv,
  required: ['PIS_BANK_URL'],
  consumers: ['rail-executor'],
  modules: (config) => [RailExecutorModule.register(config)],
});
