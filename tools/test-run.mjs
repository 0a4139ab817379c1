/** The decisions of test.mjs, apart from its deeds. */

const defaults = ['--maxWorkers=2'];

/** `--project unit` is what our documents say; Jest's own word is --selectProjects, which swallows what follows it. */
export function jestArguments(args) {
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
    projects.push(`--selectProjects=${name}`);
  }
  const workersGiven = rest.some((arg) => /^(--maxWorkers|-w|--runInBand|-i$)/.test(arg));
  return [...(workersGiven ? [] : defaults), ...rest, ...projects];
}

/** By the suffix of the files (paths relative to the root): CONTRIBUTING.md, "Style". */
export function serversNeeded(testFiles) {
  const some = (pattern) => testFiles.some((file) => pattern.test(file));
  const scenarios = some(/^tests\//);
  return {
    postgres: scenarios || some(/\.(pg|kafka|esdb)\.spec\.ts$/),
    kafka: scenarios || some(/\.kafka\.spec\.ts$/),
    // A scenario starts the built apps.
    builds: scenarios,
  };
}

/** The last line of the run. A suite that could not run counts as one failure. */
export function summary(report) {
  if (report === null) return { line: '0 passed, 1 failed', failed: true };
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  const skipped = report.numPendingTests + report.numTodoTests;
  const line = `${report.numPassedTests} passed, ${failed} failed`;
  return { line: skipped === 0 ? line : `${line}, ${skipped} skipped`, failed: failed > 0 };
}
