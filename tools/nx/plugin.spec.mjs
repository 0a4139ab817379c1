/** What Nx knows about the projects, asked of Nx itself. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../workspace.mjs';
import jestConfig from '../../jest.config.mjs';
import { reportOf } from './plugin.mjs';
import { errorsByRoot } from './typecheck.mjs';

const graphTimeoutMs = 120_000;
let nodes;
let dependencies;
let folder;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pis-graph-'));
  const file = join(folder, 'graph.json');
  const nx = join(root, 'node_modules/.bin/nx');
  execFileSync(process.execPath, [nx, 'graph', `--file=${file}`], {
    cwd: root,
    stdio: 'ignore',
    timeout: graphTimeoutMs,
    env: { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false' },
  });
  ({ nodes, dependencies } = JSON.parse(readFileSync(file, 'utf8')).graph);
}, graphTimeoutMs);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const targets = (project) => nodes[project].data.targets;

it('gives every app and library build, lint, typecheck and test, all cached', () => {
  const packages = ['apps', 'libs'].flatMap((kind) =>
    readdirSync(join(root, kind)).filter((name) =>
      existsSync(join(root, kind, name, 'package.json')),
    ),
  );
  expect(packages.length).toBeGreaterThan(20);
  for (const name of packages) {
    const { build, lint, typecheck, test } = targets(`@pis/${name}`);
    const cached = [build, lint, typecheck, test].map((target) => target?.cache);
    expect({ name, cached }).toEqual({ name, cached: [true, true, true, true] });
  }
});

it('runs a test again when the project, what it imports, or the way tests are run has changed', () => {
  expect(targets('@pis/api-gateway').test.inputs).toEqual(['default', '^production', 'tests']);
  for (const project of ['tests', 'tools'])
    expect(targets(project).test.inputs).toContain('{workspaceRoot}/**/*');
});

it('caches the report of a test run, from which npm test counts', () => {
  expect(reportOf('apps/api-gateway')).toBe('.cache/test-reports/apps-api-gateway.json');
  expect(targets('@pis/api-gateway').test.outputs).toEqual([
    `{workspaceRoot}/${reportOf('apps/api-gateway')}`,
  ]);
});

it('builds the script of the API reference with the gateway', () => {
  const command = (project) => targets(`@pis/${project}`).build.options.command;
  expect(command('api-gateway')).toMatch(/^swc .* && node build-assets\.mjs$/);
  expect(command('cli')).not.toContain('build-assets');
});

it('builds every app before the tests of the whole system', () => {
  expect(targets('tests').test.dependsOn).toEqual([{ projects: ['*'], target: 'build' }]);
});

it('tests all projects of a run in one run of Jest', () => {
  for (const project of ['@pis/cli', '@pis/domain', 'tests', 'tools'])
    expect(targets(project).test).toMatchObject({ executor: './tools/nx:test', parallelism: true });
});

it('affects the tests of the whole system with a change of any app', () => {
  const affecting = dependencies.tests.map(({ target }) => target);
  expect(affecting).toEqual(expect.arrayContaining(['@pis/cli', '@pis/event-relay']));
});

it('lets a package replace a target, and keeps the tag by which imports are allowed', () => {
  expect(targets('@pis/client').build.options.command).toContain('tsc -p tsconfig.build.json');
  expect(nodes['@pis/client'].data.tags).toContain('is:client');
});

it('groups the errors of one compiler run by project', () => {
  const output = [
    "apps/cli/src/main.ts(1,7): error TS2322: Type 'string' is not assignable",
    "  to type 'number'.",
    "tests/cli.spec.ts(2,1): error TS2304: Cannot find name 'x'.",
    "error TS5023: Unknown compiler option 'y'.",
    '',
  ];
  expect(Object.fromEntries(errorsByRoot(output.join('\n')))).toEqual({
    'apps/cli': output.slice(0, 2),
    tests: [output[2]],
    '': [output[3]],
  });
});

it('gives each Jest project that needs a server a setup file of its own: Jest runs one file once', () => {
  const setups = jestConfig.projects.flatMap(({ globalSetup }) => globalSetup ?? []);
  expect(setups).toHaveLength(3);
  expect(new Set(setups).size).toBe(setups.length);
});
