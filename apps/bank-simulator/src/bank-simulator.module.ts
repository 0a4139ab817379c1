import { type DynamicModule, Module } from '@nestjs/common';
import { PG_POOL, type RailsConfig } from '@pis/service-kit';
import type pg from 'pg';
import { BankController } from './bank.controller.js';
import { BankSimulator } from './bank-simulator.js';

export { BankSimulator } from './bank-simulator.js';

export type BankSimulatorConfig = Pick<RailsConfig, 'PIS_SANDBOX_RAIL_DELAY_MS'>;

@Module({})
export class BankSimulatorModule {
  /**
   * Gives BankSimulator to whoever imports it. `http` serves it under `/bank/` too, for the simulator
   * as a process of its own; in all-in-one it must stay off, the public port would serve the bank.
   */
  static register(
    config: BankSimulatorConfig,
    { http }: { readonly http: boolean },
  ): DynamicModule {
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
