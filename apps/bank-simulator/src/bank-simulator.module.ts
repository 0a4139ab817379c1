import path from 'node:path';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type Provider,
} from '@nestjs/common';
import {
  type BankServersConfig,
  ConfigurationError,
  LOGGER,
  type Logger,
  PG_POOL,
  type ProcessConfig,
  type RailsConfig,
  type ScenariosConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { AchDesk } from './ach-desk.js';
import { BankController } from './bank.controller.js';
import { BankStatementsController } from './bank-statements.controller.js';
import { BankCore } from './bank-core.js';
import type { BankServers } from './bank-servers.js';
import { BankSimulator } from './bank-simulator.js';
import { BooksUpkeep } from './books-upkeep.js';
import { MessageDesk } from './message-desk.js';
import { ScenarioFile } from './scenario-file.js';

export { AchDesk } from './ach-desk.js';
export { BankCore } from './bank-core.js';
export { BankSimulator } from './bank-simulator.js';
export { banksFileName, sandboxAchIdentity, sandboxConnections } from './customer.js';
export { inProcessFiles } from './in-process-files.js';
export { inProcessMessages } from './in-process-messages.js';
export { MessageDesk } from './message-desk.js';
export { UnreliableLine, type UnreliableLineOptions } from './unreliable-line.js';

export type BankSimulatorConfig = Pick<RailsConfig, 'PIS_SANDBOX_RAIL_DELAY_MS'> &
  Partial<ScenariosConfig> &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

/** For the simulator as a separate process. */
export type ServedBankConfig = BankSimulatorConfig &
  BankServersConfig &
  Pick<ProcessConfig, 'HOST' | 'PIS_DATA_DIR'>;

const BANK_SERVERS = Symbol('BankServers');

/** The folder of keys and of the banks file, in PIS_DATA_DIR. */
const simulatedBankFolder = 'simulated-bank';

@Module({})
export class BankSimulatorModule {
  /**
   * Provides BankSimulator, AchDesk and MessageDesk to modules that import it. `http` also serves the JSON
   * connection under `/bank/`. In all-in-one it must stay off: the public port would serve the bank.
   * @throws ConfigurationError in production, in any composition, and for a wrong file of scenarios
   */
  static register(
    config: BankSimulatorConfig,
    { http }: { readonly http: boolean },
  ): DynamicModule {
    return {
      module: BankSimulatorModule,
      controllers: http ? [BankController, BankStatementsController] : [],
      providers: providersFor(config),
      exports: [BankSimulator, AchDesk, MessageDesk],
    };
  }

  /** The simulator as a separate process, with its SFTP and HTTPS servers. @throws ConfigurationError */
  static serving(config: ServedBankConfig): DynamicModule {
    return {
      module: ServedBankModule,
      imports: [BankSimulatorModule.register(config, { http: true })],
      providers: [
        {
          provide: BANK_SERVERS,
          useFactory: async (ach: AchDesk, messages: MessageDesk, logger: Logger) => {
            // All in one needs neither SSH nor certificates, and does not load them.
            const servers = await import('./bank-servers.js');
            return new servers.BankServers({
              ...{ ach, messages, logger },
              host: config.HOST ?? '0.0.0.0',
              publicHost: config.PIS_BANK_HOST,
              sftpPort: config.PIS_BANK_SFTP_PORT,
              httpsPort: config.PIS_BANK_HTTPS_PORT,
              folder: path.join(config.PIS_DATA_DIR, simulatedBankFolder),
            });
          },
          inject: [AchDesk, MessageDesk, LOGGER],
        },
      ],
    };
  }
}

/** Its servers run while the app does. */
@Module({})
class ServedBankModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(BANK_SERVERS) private readonly servers: BankServers) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.servers.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.servers.stop();
  }
}

function providersFor(config: BankSimulatorConfig): Provider[] {
  if (config.PIS_ENVIRONMENT === 'production')
    throw new ConfigurationError(['PIS_ENVIRONMENT: the simulated bank is for the sandbox']);
  const delayMs = config.PIS_SANDBOX_RAIL_DELAY_MS;
  return [
    {
      provide: ScenarioFile,
      useFactory: (logger: Logger) => scenarioFile(config.PIS_BANK_SCENARIOS_FILE, logger),
      inject: [LOGGER],
    },
    {
      provide: BankCore,
      useFactory: (pool: pg.Pool, scenarios: ScenarioFile) =>
        new BankCore(pool, { delayMs, scenarios }),
      inject: [PG_POOL, ScenarioFile],
    },
    {
      provide: BooksUpkeep,
      useFactory: (pool: pg.Pool, { terms }: BankCore, logger: Logger) =>
        new BooksUpkeep({ pool, logger, referenceMemoryMs: terms.referenceMemoryMs }),
      inject: [PG_POOL, BankCore, LOGGER],
    },
    { provide: AchDesk, useFactory: (core: BankCore) => new AchDesk(core), inject: [BankCore] },
    {
      provide: MessageDesk,
      useFactory: (core: BankCore) => new MessageDesk(core),
      inject: [BankCore],
    },
    {
      provide: BankSimulator,
      useFactory: (pool: pg.Pool, scenarios: ScenarioFile) =>
        new BankSimulator(pool, { delayMs, scenarios }),
      inject: [PG_POOL, ScenarioFile],
    },
  ];
}

/** @throws ConfigurationError with each problem of the file */
function scenarioFile(file: string | undefined, logger: Logger): ScenarioFile {
  try {
    return new ScenarioFile({
      path: file,
      onReload: (changed, scenarios) =>
        logger.info({ file: changed, scenarios }, 'scenarios were read again'),
      onProblem: (changed, problem) =>
        logger.warn(
          { file: changed, problem },
          'the scenarios changed and are wrong: the former ones stay',
        ),
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError([`PIS_BANK_SCENARIOS_FILE: ${problem}`]);
  }
}
