/**
 * The `test` target. One run of Jest tests all projects of a run that are not in Nx's cache: its workers then
 * share one queue, which begins with the slowest files of all projects. With a run per project, the
 * workers of the last ones have nothing to do, and each run loads Jest and starts servers again.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { launch } from '../launch.mjs';
import { summary, withoutNx } from '../test-run.mjs';
import { ended } from '../workspace.mjs';
import { reportOf } from './plugin.mjs';

export async function test(options, context) {
  const [{ success, terminalOutput }] = await testProjects([context.projectName], options, context);
  console.log(terminalOutput);
  return { success };
}

/** Nx calls this with all test tasks of a run that are not in its cache. */
export async function* testAll(taskGraph, _inputs, overrides, context) {
  const ids = Object.keys(taskGraph.tasks);
  const projects = ids.map((id) => taskGraph.tasks[id].target.project);
  const results = await testProjects(projects, overrides, context);
  for (const [index, result] of results.entries()) yield { task: ids[index], result };
}

/** `__overrides_unparsed__`: what follows the target in Nx's command line, for Jest. */
async function testProjects(projects, { __overrides_unparsed__: jestArguments = [] }, context) {
  const roots = projects.map((project) => context.projectsConfigurations.projects[project].root);
  const code = await runTests(roots, jestArguments, context.root);
  const reports = roots.map((root) =>
    jestArguments.length === 0 ? readReport(join(context.root, reportOf(root))) : null,
  );
  return reports.map((report, index) => {
    if (jestArguments.length > 0) return { success: code === 0, terminalOutput: '' };
    const { line, failed } = summary([report]);
    const files = failedFiles(report).map((name) => `failed: ${relative(context.root, name)}`);
    // A run can fail although no test did, for example when a server does not stop.
    const isOdd = code !== 0 && reports.every((each) => !summary([each]).failed);
    if (isOdd) files.push(`the test run ended with ${code}, although no test failed`);
    const terminalOutput = [`${roots[index]}: ${line}`, ...files].join('\n');
    return { success: !failed && !isOdd, terminalOutput };
  });
}

async function runTests(roots, jestArguments, workspace) {
  process.chdir(workspace);
  process.env = withoutNx(process.env);
  const script = join(workspace, 'tools/test.mjs');
  const selected = roots.flatMap((root) => ['--root', root]);
  const child = launch([script, ...selected, ...jestArguments], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {},
  });
  // Nx is gone.
  const end = () => child.kill('SIGTERM');
  process.once('disconnect', end);
  const [code] = await ended(child);
  process.removeListener('disconnect', end);
  return code ?? 1;
}

/** Null if the run wrote none. */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function failedFiles(report) {
  return (report?.testResults ?? []).flatMap(({ name, status }) =>
    status === 'failed' ? [name] : [],
  );
}
