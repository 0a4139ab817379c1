import { type DynamicModule, Module } from '@nestjs/common';
import {
  ConfigurationError,
  LOGGER,
  type Logger,
  PG_POOL,
  type ProcessConfig,
  type RailsConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { BankController } from './bank.controller.js';
import { BankSimulator } from './bank-simulator.js';
import { ScenarioFile } from './scenario-file.js';

export { BankSimulator } from './bank-simulator.js';
export { UnreliableLine, type UnreliableLineOptions } from './unreliable-line.js';

export type BankSimulatorConfig = Pick<RailsConfig, 'PIS_SANDBOX_RAIL_DELAY_MS'> &
  Partial<Pick<RailsConfig, 'PIS_BANK_SCENARIOS_FILE'>> &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

@Module({})
export class BankSimulatorModule {
  /**
   * Provides BankSimulator to modules that import it. `http` also serves it under `/bank/`, for the
   * simulator as a separate process. In all-in-one it must stay off: the public port would serve the bank.
   * @throws ConfigurationError in production, in any composition, and for a wrong file of scenarios
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
          useFactory: (pool: pg.Pool, logger: Logger) =>
            new BankSimulator(pool, {
              delayMs: config.PIS_SANDBOX_RAIL_DELAY_MS,
              scenarios: scenarioFile(config.PIS_BANK_SCENARIOS_FILE, logger),
            }),
          inject: [PG_POOL, LOGGER],
        },
      ],
      exports: [BankSimulator],
    };
  }
}

/** @throws ConfigurationError with each problem of the file */
function scenarioFile(path: string | undefined, logger: Logger): ScenarioFile {
  try {
    return new ScenarioFile({
      path,
      onReload: (file, scenarios) => logger.info({ file, scenarios }, 'scenarios were read again'),
      onProblem: (file, problem) =>
        logger.warn({ file, problem }, 'the scenarios changed and are wrong: the former ones stay'),
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError([`PIS_BANK_SCENARIOS_FILE: ${problem}`]);
  }
}
