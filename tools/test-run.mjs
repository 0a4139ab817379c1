/** The pure part of test.mjs. */
import { join, relative } from 'node:path';

/**
 * Concurrent test files. Tests wait more than they compute: four of them keep two cores busy. With five, the longest ones, which begin
 * together, run into their time limits.
 */
export const workersMax = 4;

/** `--project servers` stands for the Jest projects that need a server. */
const jestProjects = { servers: ['postgres', 'kafka'] };

/** Removes `--root FOLDER`, once for each project that a `test` target runs, from the front of the arguments. */
export function rootArguments(args) {
  const roots = [];
  let rest = args;
  while (rest[0] === '--root') {
    if (rest[1] === undefined) throw new Error('--root needs a folder, as in apps/cli');
    roots.push(rest[1]);
    rest = rest.slice(2);
  }
  return { roots, rest };
}

/** The environment without what Nx adds: a test must not notice that Nx runs it, or it would write colors. */
export function withoutNx(env) {
  const own = Object.entries(env).filter(([name]) => !/^(NX_|FORCE_COLOR$|LERNA_)/.test(name));
  return Object.fromEntries(own);
}

/**
 * Jest's report on each of the project folders, from its report on all of them.
 * @param folders as in apps/cli
 * @param workspace the folder that they are relative to
 */
export function reportsByRoot({ testResults }, folders, workspace) {
  return folders.map((folder) => {
    const own = testResults.filter(({ name }) => name.startsWith(join(workspace, folder, '/')));
    const tests = own.flatMap(({ assertionResults }) => assertionResults);
    const count = (status) => tests.filter((test) => test.status === status).length;
    const [passed, failed, todo] = [count('passed'), count('failed'), count('todo')];
    return {
      numPassedTests: passed,
      numFailedTests: failed,
      numTodoTests: todo,
      numPendingTests: tests.length - passed - failed - todo,
      numRuntimeErrorTestSuites: own.filter(couldNotRun).length,
      testResults: own,
    };
  });
}

/** More failed files than these are not the work of a busy machine. */
const repeatedMax = 3;

/**
 * The failed files that CI runs once more, alone: those that start servers or whole systems, when they are few. Such a
 * file may fail because its neighbors took the machine's two cores. A unit test has no such excuse.
 * @param workspace the folder that the result is relative to
 */
export function filesToRepeat({ testResults }, workspace) {
  const failed = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => relative(workspace, name));
  const mayRepeat = failed.every((file) => /\.(pg|kafka|esdb)\.spec\.ts$|^tests\//.test(file));
  return mayRepeat && failed.length <= repeatedMax ? failed : [];
}

/** Jest's report with the results of files that ran again in the place of their first ones. */
export function reportWithRepeated(first, second) {
  const again = new Map(second?.testResults.map((result) => [result.name, result]));
  return {
    ...first,
    testResults: first.testResults.map((result) => again.get(result.name) ?? result),
  };
}

/** A file that failed, although none of its tests did. */
function couldNotRun({ status, assertionResults }) {
  return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
}

/**
 * Our documents use `--project unit`. Jest's own option is --selectProjects, which takes all arguments after
 * it. `mayBeNone`: a run without any test passes.
 */
export function jestArguments(args, { workers, mayBeNone = false }) {
  const rest = [];
  const projects = [];
  const queue = [...args];
  for (let arg = queue.shift(); arg !== undefined; arg = queue.shift()) {
    const [flag, inline] = arg.split('=', 2);
    if (flag !== '--project') {
      rest.push(arg);
      continue;
    }
    const name = inline ?? queue.shift();
    if (name === undefined) throw new Error('--project needs a name: unit, servers or scenarios');
    projects.push(...(jestProjects[name] ?? [name]).map((each) => `--selectProjects=${each}`));
  }
  const workersGiven = rest.some((arg) => /^(--maxWorkers|-w|--runInBand|-i$)/.test(arg));
  return [
    ...(mayBeNone ? ['--passWithNoTests'] : []),
    ...(workersGiven ? [] : [`--maxWorkers=${workers}`]),
    ...rest,
    ...projects,
  ];
}

/** The last line of a run: the sums of Jest's reports. A suite that could not run, or a missing report, is one failure. */
export function summary(reports) {
  const count = (field) => reports.reduce((sum, report) => sum + (report?.[field] ?? 0), 0);
  const missing = reports.filter((report) => report === null).length;
  const failed = count('numFailedTests') + count('numRuntimeErrorTestSuites') + missing;
  const skipped = count('numPendingTests') + count('numTodoTests');
  const line = `${count('numPassedTests')} passed, ${failed} failed`;
  return { line: skipped === 0 ? line : `${line}, ${skipped} skipped`, failed: failed > 0 };
}
