/** The apps that make up the whole system, and the preparation before their consumers start. */
import { apiGateway } from '@pis/api-gateway/app';
import { BankSimulatorModule } from '@pis/bank-simulator/module';
import { allTopicSpecs } from '@pis/contracts';
import { dashboard } from '@pis/dashboard/app';
import { directoryProjector } from '@pis/directory-projector/app';
import { eventRelay } from '@pis/event-relay/app';
import { feeCollector } from '@pis/fee-collector/app';
import { applyTopics, isBrokerError } from '@pis/messaging';
import { paymentPages } from '@pis/payment-pages/app';
import { heldConnections, paymentsProjector } from '@pis/payments-projector/app';
import { isTransient } from '@pis/postgres';
import { railExecutor } from '@pis/rail-executor/app';
import { RailExecutorModule } from '@pis/rail-executor/module';
import { migrate } from '@pis/read-models';
import {
  type App,
  type ConfigOf,
  databasePool,
  demoEnv,
  directUrlOf,
  kafkaSettings,
  onceAvailable,
  scenariosEnv,
  STORE_CHECK,
  type StoreCheck,
  together,
} from '@pis/service-kit';
import { statementGenerator } from '@pis/statement-generator/app';
import { webhookDispatcher } from '@pis/webhook-dispatcher/app';
import { bootstrapDemo, type SandboxDemo } from './sandbox-demo.js';
import { simulatedBanks, simulatesBank } from './simulated-bank.js';

/** Short, because the user waits for it. The shutdown must fit into 10 s together with the embedded PostgreSQL. */
const drainMs = 500;

const railExecutorWithBank = {
  ...railExecutor,
  env: { ...railExecutor.env, ...scenariosEnv },
  module: (config: ConfigOf<typeof railExecutor.env & typeof scenariosEnv>) =>
    simulatesBank(config)
      ? RailExecutorModule.register(config, {
          imports: [BankSimulatorModule.register(config, { http: false })],
          banks: simulatedBanks,
        })
      : railExecutor.module(config),
};

/** Every app of the system. A new app needs one line here. */
export const apps = [
  apiGateway,
  dashboard,
  paymentPages,
  paymentsProjector,
  directoryProjector,
  railExecutorWithBank,
  feeCollector,
  statementGenerator,
  webhookDispatcher,
  eventRelay,
] as const;
const everything = together('all-in-one', apps);

/** Connections that the projections of payments, of the directory and of fees, and the relay hold. */
const heldByAll = heldConnections + 3;
export const allInOneEnv = {
  ...everything.env,
  ...demoEnv,
  PIS_DATABASE_POOL: databasePool(heldByAll),
};
export type AllInOneConfig = ConfigOf<typeof allInOneEnv>;

/** Calls `onDemo` with what the sandbox shows once it exists, before the app is ready. */
export function allInOneApp(onDemo: (demo: SandboxDemo) => void): App<typeof allInOneEnv> {
  return {
    ...everything,
    env: allInOneEnv,
    defaultHost: '127.0.0.1',
    defaultDrainMs: drainMs,
    prepare: async ({ app, config, databaseUrl, logger, signal }) => {
      // /health/ready names what is away, too.
      const retryWhileAway = <Result>(work: () => Promise<Result>) =>
        onceAvailable(
          { signal, logger },
          work,
          (error) => isTransient(error) || isBrokerError(error),
        );
      // First, so that nothing is changed in stores of another system.
      await retryWhileAway(() => checkUnlessNew(app.get<StoreCheck>(STORE_CHECK)));
      await retryWhileAway(() =>
        migrate({
          connectionString: directUrlOf(config, databaseUrl),
          log: (line) => logger.info(line),
          signal,
        }),
      );
      if (config.PIS_BROKER === 'kafka')
        await retryWhileAway(() =>
          applyTopics(
            kafkaSettings(config, 'pis-all-in-one'),
            { prefix: config.KAFKA_PREFIX },
            allTopicSpecs(),
          ),
        );
      if (config.PIS_ENVIRONMENT === 'production') return;
      onDemo(await bootstrapDemo(app, config, retryWhileAway));
    },
  };
}

/** SQLSTATE of a missing table. */
const tableMissing = '42P01';

/** A database without our tables, or with tables of an older release, is checked after the migration. */
async function checkUnlessNew(check: StoreCheck): Promise<void> {
  try {
    await check({ checkOnly: true });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === tableMissing)) throw error;
  }
}
