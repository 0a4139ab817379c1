/** The pure part of test.mjs. */

/** Concurrent test files. Tests wait more than they compute: four of them keep two cores busy. */
export const workersMax = 4;

/** `--project servers` stands for the Jest projects that need a server. */
const jestProjects = { servers: ['postgres', 'kafka'] };

/** Removes `--root FOLDER`, which a `test` target passes first, from the arguments. */
export function rootArgument(args) {
  const [flag, folder, ...rest] = args;
  if (flag !== '--root') return { projectRoot: null, rest: args };
  if (folder === undefined) throw new Error('--root needs a folder, as in apps/cli');
  return { projectRoot: folder, rest };
}

/** The environment without the variables that Nx adds for a task. */
export function withoutNx(env) {
  if (env.NX_TASK_TARGET_PROJECT === undefined) return env;
  const own = Object.entries(env).filter(([name]) => !/^(NX_|FORCE_COLOR$)/.test(name));
  return Object.fromEntries(own);
}

/** Jest workers of a run: one for a project, because Nx runs several projects at once, except the scenarios. */
export function workersOf(projectRoot) {
  if (projectRoot === null) return 2;
  return projectRoot === 'tests' ? workersMax : 1;
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
