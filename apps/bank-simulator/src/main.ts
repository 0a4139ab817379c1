import { railsEnv, runApp } from '@pis/service-kit';
import { BankSimulatorModule } from './bank-simulator.module.js';

const { PIS_SANDBOX_RAIL_DELAY_MS } = railsEnv;

await runApp({
  name: 'bank-simulator',
  env: { PIS_SANDBOX_RAIL_DELAY_MS },
  consumers: [],
  modules: (config) => [BankSimulatorModule.register(config, { http: true })],
});
