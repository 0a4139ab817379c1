/**
 * The whole system in one process, composed of the modules of all apps. It uses an embedded PostgreSQL unless
 * DATABASE_URL is set, and the embedded broker unless PIS_BROKER is kafka. `npm start` runs it as the
 * sandbox.
 */
import path from 'node:path';
import { DataDirectoryInUse, type Postgres, startPostgres } from '@pis/local-servers';
import { migrate } from '@pis/read-models';
import {
  createLogger,
  fail,
  loadConfig,
  type Logger,
  logWarnings,
  makeFolder,
  onShutdownSignal,
  platformEnv,
  startApp,
} from '@pis/service-kit';
import { type AllInOneConfig, allInOneApp, allInOneEnv } from './all-in-one-app.js';
import { banner, readyLine } from './ready-line.js';
import { demoShown, type SandboxDemo } from './sandbox-demo.js';

let logger: Logger | undefined;
let postgres: Postgres | undefined;
let ending = false;
try {
  const config = loadConfig({ ...platformEnv, ...allInOneEnv }, process.env);
  logger = createLogger('all-in-one', config.LOG_LEVEL);
  logWarnings(logger);
  if (config.DATABASE_URL === undefined) {
    postgres = await embedded(config, logger);
    // The embedded database is running and only ours, so it can be migrated before the app starts.
    await migrate({ connectionString: postgres.url });
  }
  await run(config, config.DATABASE_URL ?? postgres?.url ?? '', logger);
} catch (error) {
  // A signal during the wait for dependencies is not a failure: the shutdown exits when it is done.
  if (!ending) {
    await postgres?.stop();
    fail(error, error instanceof DataDirectoryInUse ? undefined : logger);
  }
}

async function run(config: AllInOneConfig, databaseUrl: string, log: Logger): Promise<void> {
  const made: { demo?: SandboxDemo } = {};
  const running = await startApp(
    allInOneApp((created) => (made.demo = created)),
    config,
    databaseUrl,
    log,
  );
  onShutdownSignal({
    logger: log,
    limitMs: running.shutdownLimitMs,
    close: async () => {
      ending = true;
      await running.close();
      await postgres?.stop();
    },
  });
  await running.ready.catch(async (error: unknown) => {
    if (!ending) await running.close();
    throw error;
  });
  const { demo = null } = made;
  if (demo !== null) await demoShown(running.app, demo, () => ending);
  const shown = { url: running.url, demo, config };
  process.stdout.write(`${readyLine(shown)}\n`);
  process.stderr.write(banner(shown));
}

async function embedded(config: AllInOneConfig, log: Logger): Promise<Postgres> {
  const dataDir = path.join(config.PIS_DATA_DIR, 'postgres');
  makeFolder('PIS_DATA_DIR', dataDir, 0o700);
  return startPostgres({
    dataDir,
    database: 'pis',
    // The details of an error hold the row that it is about.
    settings: ['log_error_verbosity=terse'],
    supervise: true,
    onExit: ({ pid, error }) =>
      log.error(
        { pid, ...(error === null ? {} : { err: error }) },
        'the embedded PostgreSQL ended; restarting it',
      ),
    onRestart: ({ pid }) => log.info({ pid }, 'the embedded PostgreSQL runs again'),
  });
}
