import { railsEnv, runApp } from '@pis/service-kit';
import { RailExecutorModule } from './rail-executor.module.js';

await runApp({
  name: 'rail-executor',
  env: railsEnv,
  consumers: ['rail-executor'],
  modules: (config) => [RailExecutorModule.register(config)],
});
