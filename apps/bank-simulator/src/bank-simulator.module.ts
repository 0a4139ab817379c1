import { type DynamicModule, Module } from '@nestjs/common';
import {
  ConfigurationError,
  PG_POOL,
  type ProcessConfig,
  type RailsConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { BankController } from './bank.controller.js';
import { BankSimulator } from './bank-simulator.js';

export { BankSimulator } from './bank-simulator.js';
export { UnreliableLine, type UnreliableLineOptions } from './unreliable-line.js';

export type BankSimulatorConfig = Pick<RailsConfig, 'PIS_SANDBOX_RAIL_DELAY_MS'> &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

@Module({})
export class BankSimulatorModule {
  /**
   * Provides BankSimulator to modules that import it. `http` also serves it under `/bank/`, for the
   * simulator as a separate process. In all-in-one it must stay off: the public port would serve the bank.
   * @throws ConfigurationError in production, in any composition
   */
  static register(
    config: BankSimulatorConfig,
    { http }: { readonly http: boolean },
  ): DynamicModule {
    if (config.PIS_ENVIRONMENT === 'production')
      throw new ConfigurationError(['PIS_ENVIRONMENT: the simulated bank is for the sandbox']);
    return {
      module: BankSimulatorModule,
      controllers: http ? [BankController] : [],
      providers: [
        {
          provide: BankSimulator,
          useFactory: (pool: pg.Pool) =>
            new BankSimulator(pool, { delayMs: config.PIS_SANDBOX_RAIL_DELAY_MS }),
          inject: [PG_POOL],
        },
      ],
      exports: [BankSimulator],
    };
  }
}
