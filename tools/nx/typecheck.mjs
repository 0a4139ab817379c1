/**
 * The `typecheck` target. The projects import each other's sources, so one compiler run over the whole
 * workspace costs little more than a run for one app. Code that runs in a browser has other globals, so an app
 * with such code has a program of its own for it, tsconfig.browser.json. A project fails when an error is in
 * its files.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export async function typecheck(_options, context) {
  const [{ success, terminalOutput }] = await check([context.projectName], context);
  console.log(terminalOutput);
  return { success };
}

/** Nx calls this with all typecheck tasks of a run that are not in its cache. */
export async function* typecheckAll(taskGraph, _inputs, _overrides, context) {
  const ids = Object.keys(taskGraph.tasks);
  const projects = ids.map((id) => taskGraph.tasks[id].target.project);
  const results = await check(projects, context);
  for (const [index, result] of results.entries()) yield { task: ids[index], result };
}

async function check(projects, { root, projectsConfigurations }) {
  const rootOf = (project) => projectsConfigurations.projects[project].root;
  const outputs = [];
  for (const file of ['tsconfig.json', ...projects.map(rootOf).flatMap(browserProgram(root))])
    outputs.push(await compile(file, root));
  const byRoot = errorsByRoot(outputs.join('\n'));
  return projects.map((project) => {
    const own = byRoot.get(rootOf(project)) ?? [];
    // An error outside of all projects, as in the configuration, is everybody's.
    const lines = [...own, ...(byRoot.get('') ?? [])];
    return { success: lines.length === 0, terminalOutput: lines.join('\n') };
  });
}

/** The program of a project's browser code, if it has any. */
function browserProgram(workspace) {
  return (root) => {
    const file = `${root}/tsconfig.browser.json`;
    return existsSync(join(workspace, file)) ? [file] : [];
  };
}

/** The errors of one program, with paths from the workspace. */
async function compile(file, workspace) {
  const tsc = join(workspace, 'node_modules/typescript-native/bin/tsc');
  const child = spawn(process.execPath, [tsc, '-p', file, '--pretty', 'false'], {
    cwd: workspace,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  const [code] = await once(child, 'close');
  const output = Buffer.concat(chunks).toString('utf8');
  return code !== 0 && output.trim() === '' ? `tsc -p ${file} ended with ${code}` : output;
}

/** Errors of tsc by project folder, the lines that explain an error included; '' is no project. */
export function errorsByRoot(output) {
  const byRoot = new Map();
  let root = '';
  for (const line of output.split('\n').filter((text) => text !== '')) {
    if (!line.startsWith(' '))
      root = /^((?:apps|libs)\/[^/]+|tests)\/\S*\(\d+,\d+\): /.exec(line)?.[1] ?? '';
    byRoot.set(root, [...(byRoot.get(root) ?? []), line]);
  }
  return byRoot;
}
