import { bankServersEnv, defineApp, railsEnv, scenariosEnv } from '@pis/service-kit';
import { BankSimulatorModule } from './bank-simulator.module.js';

const { PIS_SANDBOX_RAIL_DELAY_MS } = railsEnv;

export const bankSimulator = defineApp({
  name: 'bank-simulator',
  env: { PIS_SANDBOX_RAIL_DELAY_MS, ...scenariosEnv, ...bankServersEnv },
  consumers: [],
  module: (config) => BankSimulatorModule.serving(config),
});
