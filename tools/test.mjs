/**
 * `npm test [-- jest arguments]`: installs and builds what is missing, starts the real servers that
 * the selected tests need, runs them, and ends with `N passed, N failed`. `--project unit` (or
 * servers, scenarios) selects a Jest project, anything else goes to Jest.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { allProjects, commandEnv, continueOnSupportedNode, ended, node } from './workspace.mjs';
import { prepare, root, say } from './workspace.mjs';
import { launch, whenToldToEnd } from './launch.mjs';
import { jestArguments, serversNeeded, summary } from './test-run.mjs';

const jest = [
  join(root, 'node_modules/jest/bin/jest.js'),
  '--config',
  join(root, 'jest.config.mjs'),
];
const jestEnv = { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' };
/** What the tools use as built code; the tests themselves run from sources. */
const builtForServers = ['libs/local-servers', 'libs/read-models'];
const scratchPrefix = 'pis-test-';
/** Longer than any run: a younger folder may be one that is in use. */
const abandonedAfterMs = 6 * 3_600_000;
const undo = [];
let interrupted = false;

await prepare(builtForServers);
await continueOnSupportedNode();
whenToldToEnd(() => void interrupt());
process.exitCode = await main();

async function main() {
  removeAbandoned();
  const scratch = mkdtempSync(join(tmpdir(), scratchPrefix));
  undo.push(() => rmSync(scratch, { recursive: true, force: true }));
  try {
    const args = jestArguments(process.argv.slice(2));
    const needed = serversNeeded(listTests(args));
    if (needed.builds) await prepare(allProjects());
    const env = await startServers(needed, scratch);
    const report = join(scratch, 'report.json');
    const code = await runJest([...args, '--json', `--outputFile=${report}`], env);
    const { line, failed } = summary(readReport(report));
    await cleanUp();
    console.log(line);
    return interrupted ? 130 : code !== 0 || failed ? code || 1 : 0;
  } catch (error) {
    await cleanUp();
    say(error.stack ?? String(error));
    console.log('0 passed, 1 failed');
    return 1;
  }
}

/** A run that was killed could not remove its folder. */
function removeAbandoned() {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(scratchPrefix)) continue;
    const { mtimeMs, uid } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (uid === process.getuid() && Date.now() - mtimeMs > abandonedAfterMs)
      rmSync(path, { recursive: true, force: true });
  }
}

function listTests(args) {
  const { status, stdout, stderr } = spawnSync(node, [...jest, '--listTests', '--json', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...commandEnv(), ...jestEnv },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`jest cannot list the tests:\n${stdout}${stderr}`);
  return JSON.parse(stdout).map((file) => relative(root, file));
}

async function startServers(needed, scratch) {
  const env = {};
  if (!needed.postgres) return env;
  const { startPostgres } = await import('../libs/local-servers/dist/index.js');
  const postgres = await startPostgres({
    dataDir: join(scratch, 'postgres'),
    settings: ['max_connections=300'],
  });
  undo.push(() => postgres.stop());
  env.PIS_TEST_POSTGRES_URL = postgres.url;
  await migrateTemplate(postgres.url);
  if (needed.kafka) await startBroker(scratch, env);
  return env;
}

async function migrateTemplate(serverUrl) {
  const { templateDatabase } = await import('../libs/local-servers/dist/testing/test-database.js');
  const { migrate } = await import('../libs/read-models/dist/migrate.js');
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${templateDatabase}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${templateDatabase}`;
  await migrate({ connectionString: url.href });
}

/** KAFKA_BROKERS, or a broker of our own when Java and Maven are here; else those tests are skipped. */
async function startBroker(scratch, env) {
  if (process.env.KAFKA_BROKERS) {
    env.PIS_TEST_KAFKA_BROKERS = process.env.KAFKA_BROKERS;
    return;
  }
  const { startKafka, KafkaUnavailable } = await import('../libs/local-servers/dist/index.js');
  try {
    const kafka = await startKafka({ dir: join(scratch, 'kafka') });
    undo.push(() => kafka.stop());
    env.PIS_TEST_KAFKA_BROKERS = kafka.brokers.join(',');
  } catch (error) {
    if (!(error instanceof KafkaUnavailable)) throw error;
    say(`tests that need Kafka are skipped: ${error.message}`);
  }
}

async function runJest(args, env) {
  // stdout is for the last line; Jest itself reports on stderr.
  const stdio = ['ignore', process.stderr.fd, process.stderr.fd];
  const child = launch([...jest, ...args], { stdio, env: { ...jestEnv, ...env } });
  undo.push(() => child.kill('SIGKILL'));
  const [code] = await ended(child);
  return code ?? 1;
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    say(`jest left no report: ${error.message}`);
    return null;
  }
}

/** Ends Jest; main() then takes the servers down as always. */
async function interrupt() {
  if (interrupted) return;
  interrupted = true;
  say('interrupted');
  await cleanUp();
  process.exit(130);
}

/** Last started, first stopped; each once. */
async function cleanUp() {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    try {
      await step();
    } catch (error) {
      say(`cleaning up: ${error.message}`);
    }
  }
}
