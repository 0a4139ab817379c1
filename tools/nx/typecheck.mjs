/**
 * The `typecheck` target. The projects import each other's sources, so one compiler run over the whole
 * workspace costs little more than a run for one app. A project fails when an error is in its files.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
  const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
  const args = [tsc, '-p', 'tsconfig.json', '--pretty', 'false'];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  const [code] = await once(child, 'close');
  const byRoot = errorsByRoot(Buffer.concat(output).toString('utf8'));
  if (code !== 0 && byRoot.size === 0) byRoot.set('', [`tsc ended with ${code}`]);
  return projects.map((project) => {
    const own = byRoot.get(projectsConfigurations.projects[project].root) ?? [];
    // An error outside of all projects, as in the configuration, is everybody's.
    const lines = [...own, ...(byRoot.get('') ?? [])];
    return { success: lines.length === 0, terminalOutput: lines.join('\n') };
  });
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
