/**
 * `npm run check`: all checks of the code that need no server. Runs all steps, two at once. Prints the output of those that failed, then one line per step with its time. `--without-tests` skips
 * the unit tests, for a run that is followed by `npm test`. With `--allow-outdated` an outdated package is no failure.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitFiles } from './git-files.mjs';
import { launch, whenToldToEnd } from './launch.mjs';
import { outdated } from './outdated.mjs';
import { filesOfRepository, secretsIn } from './secrets.mjs';
import {
  commandEnv,
  continueOnSupportedNode,
  ended,
  node,
  prepare,
  root,
  say,
} from './workspace.mjs';

const nx = [node, join(root, 'node_modules/.bin/nx')];
const staticOutput = '--output-style=static';
const quietNx = { NX_DAEMON: 'false', NX_TUI: 'false' };
const bin = (name) => join(root, 'node_modules/.bin', name);

const withoutTests = process.argv.includes('--without-tests');
const outdatedIsAllowed = process.argv.includes('--allow-outdated');
const unitTests = {
  name: 'unit tests',
  commands: [[node, join(root, 'tools/test.mjs'), '--project', 'unit']],
};
/** A step is a list of commands, or a function that returns the problem. This first step writes files that the others read. */
const generatedFiles = { name: 'generated files', find: staleGeneratedFiles };
/** The queues run at the same time. The steps of one queue run one after another. */
const queues = [
  [
    { name: 'format', commands: [[bin('prettier'), '--check', '--log-level=warn', '.']] },
    { name: 'outdated', find: outdatedPackages },
    { name: 'secrets', find: secrets },
  ],
  [
    { name: 'conformance', commands: [[node, join(root, 'tools/conformance.mjs'), '--check']] },
    {
      name: 'lint, types',
      commands: [[...nx, 'run-many', '-t', 'lint', 'typecheck', '--parallel=2', staticOutput]],
    },
    ...(withoutTests ? [] : [unitTests]),
  ],
];

await prepare(['libs/local-servers', 'libs/read-models']);
await continueOnSupportedNode();
const running = new Set();
whenToldToEnd((signal) => {
  for (const child of running) child.kill(signal);
  process.exit(130);
});
process.exitCode = await main();

async function main() {
  const generated = await resultsOf([generatedFiles]);
  const results = [generated, ...(await Promise.all(queues.map(resultsOf)))].flat();
  const failed = results.filter(({ problem }) => problem !== null);
  for (const { name, problem } of failed) console.log(`\n--- ${name} ---\n${problem.trimEnd()}`);
  console.log(`\n${results.map(line).join('\n')}`);
  return failed.length === 0 ? 0 : 1;
}

async function resultsOf(steps) {
  const results = [];
  for (const step of steps) {
    const startedAt = performance.now();
    const problem = await problemOf(step);
    results.push({ name: step.name, problem, ms: performance.now() - startedAt });
    say(line(results.at(-1)));
  }
  return results;
}

async function problemOf({ find, commands }) {
  if (!find) return firstProblem(commands);
  try {
    return await find();
  } catch (error) {
    return error.message;
  }
}

function line({ name, problem, ms }) {
  return `${problem === null ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${(ms / 1000).toFixed(1)} s`;
}

async function firstProblem(commands) {
  for (const [program, ...args] of commands) {
    const output = await failure(program, args);
    if (output !== null)
      return `${[program, ...args].join(' ').replaceAll(`${root}/`, '')}\n${output}`;
  }
  return null;
}

/** Null, or the output of a command that failed. */
async function failure(program, args) {
  const env = { ...quietNx, FORCE_COLOR: '0' };
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child =
    program === node
      ? launch(args, { stdio, env })
      : spawn(program, args, { cwd: root, stdio, env: { ...commandEnv(), ...env } });
  running.add(child);
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  const [code] = await ended(child);
  running.delete(child);
  return code === 0 ? null : Buffer.concat(output).toString('utf8');
}

/** Runs every script named generate or generate:…. Files under version control that change were stale. */
async function staleGeneratedFiles() {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const before = trackedFiles();
  for (const name of Object.keys(scripts).filter((script) => /^generate(:|$)/.test(script))) {
    const output = await failure('npm', ['run', '--silent', name]);
    if (output !== null) return `npm run ${name}\n${output}`;
  }
  const stale = [...trackedFiles()].filter(([file, content]) => before.get(file) !== content);
  if (stale.length === 0) return null;
  return `out of date until now, look at them and commit them:\n${stale.map(([file]) => file).join('\n')}`;
}

/**
 * Null, or the packages that a newer version fixes. If this cannot be found out, it prints a note and does not fail. If
 * they are allowed, it prints them as notes, too.
 */
function outdatedPackages() {
  const { findings, notes } = outdated();
  for (const note of [...notes, ...(outdatedIsAllowed ? findings : [])]) say(`outdated: ${note}`);
  return outdatedIsAllowed || findings.length === 0 ? null : findings.join('\n');
}

/** Null, or the places of secrets. Outside of git and CI it prints a note: nothing says which files are the repository's. */
function secrets() {
  const files = filesOfRepository();
  if (files === null) say('secrets: not looked for, because this is no git checkout');
  const found = files === null ? [] : secretsIn(files);
  return found.length === 0 ? null : found.join('\n');
}

/** Contents by file, so that uncommitted changes are no failure. Empty outside of git. @throws as `gitFiles` */
function trackedFiles() {
  // A link to a folder has no content, and a deleted file none either.
  const isFile = (file) => lstatSync(join(root, file), { throwIfNoEntry: false })?.isFile();
  const files = (gitFiles([]) ?? []).filter(isFile);
  return new Map(files.map((file) => [file, digest(join(root, file))]));
}

function digest(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
