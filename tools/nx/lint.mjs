/**
 * The `lint` target. Typed rules need a compiler program, which takes longer to build and to check than
 * the rules take to run. One ESLint process therefore lints all projects of a run, with the program of
 * the root tsconfig.json, instead of one process per project that checks the same types again.
 */
import { ESLint } from 'eslint';

export async function lint(_options, context) {
  const [{ success, terminalOutput }] = await lintProjects([context.projectName], context);
  console.log(terminalOutput);
  return { success };
}

/** Nx calls this with all lint tasks of a run that are not in its cache. */
export async function* lintAll(taskGraph, _inputs, _overrides, context) {
  const ids = Object.keys(taskGraph.tasks);
  const projects = ids.map((id) => taskGraph.tasks[id].target.project);
  const results = await lintProjects(projects, context);
  for (const [index, result] of results.entries()) yield { task: ids[index], result };
}

/** Every project is linted by the same ESLint instance, whose parser keeps its program. */
async function lintProjects(projects, { root, projectsConfigurations }) {
  process.chdir(root);
  const eslint = new ESLint({ cwd: root, errorOnUnmatchedPattern: false });
  const formatter = await eslint.loadFormatter('stylish');
  const results = [];
  for (const project of projects) {
    const found = await eslint.lintFiles([projectsConfigurations.projects[project].root]);
    const terminalOutput = await formatter.format(found);
    const success = found.every(({ errorCount, warningCount }) => errorCount + warningCount === 0);
    results.push({ success, terminalOutput });
  }
  return results;
}
