import { bankServersEnv, defineApp, railsEnv } from '@pis/service-kit';
import { BankSimulatorModule } from './bank-simulator.module.js';

const { PIS_BANK_SCENARIOS_FILE, PIS_SANDBOX_RAIL_DELAY_MS } = railsEnv;

export const bankSimulator = defineApp({
  name: 'bank-simulator',
  env: { PIS_BANK_SCENARIOS_FILE, PIS_SANDBOX_RAIL_DELAY_MS, ...bankServersEnv },
  consumers: [],
  module: (config) => BankSimulatorModule.serving(config),
});
