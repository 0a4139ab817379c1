import { railsEnv, runApp } from '@pis/service-kit';
import { BankSimulatorModule } from './bank-simulator.module.js';

await runApp({
  name: 'bank-simulator',
  env: railsEnv,
  consumers: [],
  modules: (config) => [BankSimulatorModule.register(config, { http: true })],
});
