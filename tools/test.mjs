/**
 * `npm test` runs the `test` target of every Nx project. Results of unchanged projects come from Nx's cache.
 * `npm test -- jest arguments` runs Jest once over the whole workspace: a path selects tests, and
 * `--project unit` (servers, scenarios) selects by what a test needs. `--root FOLDER`, once per project, is
 * what the `test` targets run. Each installs and builds what is missing and ends with `N passed, N failed`.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { waitForLock } from '../libs/local-servers/plain/owner-lock.mjs';
import { processIdentity } from '../libs/local-servers/plain/process-identity.mjs';
import { launch, whenToldToEnd } from './launch.mjs';
import { reportOf } from './nx/plugin.mjs';
import { memoryFolder, scratchBase } from './scratch.mjs';
import {
  filesToRepeat,
  jestArguments,
  reportsByRoot,
  reportWithRepeated,
  rootArguments,
  summary,
  workersMax,
} from './test-run.mjs';
import { allProjects, continueOnSupportedNode, ended, prepare, root, say } from './workspace.mjs';

const jest = [
  join(root, 'node_modules/jest/bin/jest.js'),
  '--config',
  join(root, 'jest.config.mjs'),
];
const jestEnv = { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' };
const nx = join(root, 'node_modules/.bin/nx');
/** The packages that the tools use as built code. The tests themselves run from sources. */
const builtForServers = ['libs/local-servers', 'libs/read-models'];
const scratchPrefix = 'pis-test-';
const ownerFile = 'owner';
/** Jest workers of a run that leaves room for other work. */
const workersBeside = 2;
/** Longer than all tests take on a slow machine. */
const otherRunLimitMs = 3_600_000;
/** PostgreSQL ends within a second. Apps with one of their own may take ten. */
const guardiansEndLimitMs = 20_000;
const guardiansEndCheckMs = 100;
const undo = [];
let interrupted = false;

await prepare(builtForServers);
await continueOnSupportedNode();
whenToldToEnd(() => void interrupt());
process.exitCode = await main(process.argv.slice(2));

async function main(argv) {
  removeAbandoned();
  try {
    const { roots, rest } = rootArguments(argv);
    const runsAll = roots.length === 0 && rest.length === 0;
    const { code, reports } = runsAll ? await runProjects() : await runJest(rest, roots);
    const { line, failed } = summary(reports);
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

/** One folder has all temporary files of a run, including those of its tests. It is removed with the run. */
function makeScratch() {
  const scratch = mkdtempSync(join(scratchBase(), scratchPrefix));
  writeFileSync(join(scratch, ownerFile), `${process.pid} ${processIdentity(process.pid)}`);
  undo.push(async () => {
    await guardiansEnded(scratch);
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  });
  return scratch;
}

/** Servers of tests that were killed are being stopped, and need their files for that. */
async function guardiansEnded(scratch) {
  const guardians = guardianFiles(scratch).flatMap(guardianIn);
  const giveUpAtMs = performance.now() + guardiansEndLimitMs;
  while (guardians.some(({ pid, identity }) => processIdentity(pid) === identity)) {
    if (performance.now() > giveUpAtMs) return;
    await delay(guardiansEndCheckMs);
  }
}

/** Files may disappear meanwhile. The many files of the servers are not looked at. */
function guardianFiles(folder) {
  return orNothing(() => readdirSync(folder, { withFileTypes: true })).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'guardian') return [path];
    return entry.isDirectory() && entry.name !== 'cluster' ? guardianFiles(path) : [];
  });
}

/** See libs/local-servers/src/postgres-cluster.ts. It is deleted when the server stops. */
function guardianIn(file) {
  return orNothing(() => [JSON.parse(readFileSync(file, 'utf8'))]);
}

function orNothing(read) {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code)) return [];
    throw error;
  }
}

/** A run that was killed could not remove its folder. */
function removeAbandoned() {
  for (const base of [tmpdir(), memoryFolder]) removeAbandonedIn(base);
}

function removeAbandonedIn(base) {
  for (const name of orNothing(() => readdirSync(base))) {
    const path = join(base, name);
    const [pid, identity] = name.startsWith(scratchPrefix) ? ownerOf(path) : [];
    // A folder without an identity is being created at this moment.
    if (identity === undefined || String(processIdentity(Number(pid))) === identity) continue;
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      say(`left for the next run: ${error.message}`);
    }
  }
}

/** Process ID and identity of the creator of a scratch folder. Nothing for any other folder. */
function ownerOf(path) {
  return orNothing(() => readFileSync(join(path, ownerFile), 'utf8').split(' '));
}

/**
 * Runs the tests of all projects through Nx. What the `test` targets depend on is built here, so all of
 * them start at once and share one run of Jest (nx/test.mjs).
 */
async function runProjects() {
  await prepare(allProjects());
  const projects = [...allProjects(), 'tests', 'tools'];
  // An old report would hide that a project wrote none.
  for (const project of projects) rmSync(join(root, reportOf(project)), { force: true });
  const args = ['run-many', '-t', 'test', '--excludeTaskDependencies', '--output-style=static'];
  const env = { NX_DAEMON: 'false', NX_TUI: 'false', NX_STREAM_OUTPUT: 'true' };
  const code = await run([nx, ...args], env);
  const reports = projects.map((project) => readReport(join(root, reportOf(project)), project));
  return { code, reports };
}

/** Runs Jest once, on the tests of these projects or on all that the arguments select. */
async function runJest(args, roots) {
  const scratch = makeScratch();
  const file = join(scratch, 'report.json');
  // Only a run of all tests of a project writes its report.
  const isWhole = roots.length > 0 && args.length === 0;
  if (isWhole) for (const each of roots) rmSync(join(root, reportOf(each)), { force: true });
  if (roots.length > 0) await afterOtherRuns();
  const workers = roots.length === 0 ? workersBeside : workersMax;
  const env = {
    ...{ ...jestEnv, TMPDIR: scratch },
    ...(roots.length === 0 ? {} : { PIS_TEST_ROOTS: roots.join(delimiter) }),
  };
  const toFile = ['--json', `--outputFile=${file}`];
  const selected = [...jestArguments(args, { workers, mayBeNone: isWhole }), ...toFile];
  let code = await run([...jest, ...selected], env);
  let report = readReport(file, roots.length === 0 ? 'the run' : roots.join(', '));
  if (!isWhole || report === null) return { code, reports: [report] };
  const repeated = process.env.CI === 'true' ? filesToRepeat(report, root) : [];
  if (code !== 0 && repeated.length > 0) {
    say(`running again, alone: ${repeated.join(', ')}`);
    code = await run([...jest, '--runInBand', ...toFile, '--runTestsByPath', ...repeated], env);
    report = reportWithRepeated(report, readReport(file, 'the second run'));
    if (code === 0) say(`UNSTABLE, passed only when run alone: ${repeated.join(', ')}`);
  }
  const reports = reportsByRoot(report, roots, root);
  mkdirSync(join(root, dirname(reportOf(roots[0]))), { recursive: true });
  for (const [index, each] of roots.entries())
    writeFileSync(join(root, reportOf(each)), JSON.stringify(reports[index]));
  return { code, reports };
}

/**
 * Nx may start a second run for tests whose builds took longer. Each run uses the whole machine, so they
 * follow each other.
 */
async function afterOtherRuns() {
  const onWait = (pid) => say(`waiting for process ${pid}, which runs other tests`);
  const limits = { timeoutMs: otherRunLimitMs, onWait };
  undo.push(await waitForLock(join(root, '.cache'), 'tests', limits));
}

/** Runs a script to its end and returns its exit code. */
async function run(args, env) {
  // stdout is for the last line.
  const stdio = ['ignore', process.stderr.fd, process.stderr.fd];
  const child = launch(args, { stdio, env });
  undo.push(() => child.kill('SIGKILL'));
  const [code] = await ended(child);
  return code ?? 1;
}

/** Null if Jest wrote no report. */
function readReport(path, ofWhat) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    say(`${ofWhat} left no test report: ${error.message}`);
    return null;
  }
}

/** Ends Jest. main() then stops the servers as usual. */
async function interrupt() {
  if (interrupted) return;
  interrupted = true;
  say('interrupted');
  await cleanUp();
  process.exit(130);
}

/** Stops each once, in reverse order. */
async function cleanUp() {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    try {
      await step();
    } catch (error) {
      say(`cleaning up: ${error.message}`);
    }
  }
}
