/**
 * Proves that the table in boundaries.mjs is enforced: for every pair of projects, an import that the
 * table allows passes the linter and every other one is refused, however it is spelled.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importsTypesOnly, mayImport } from './boundaries.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const projectsIn = (folder) =>
  readdirSync(join(root, folder)).filter((name) =>
    existsSync(join(root, folder, name, 'package.json')),
  );
const libs = projectsIn('libs');
const apps = projectsIn('apps');

const folderOf = (project) => `${libs.includes(project) ? 'libs' : 'apps'}/${project}`;
const at = (project, name = 'probe.ts') => `${folderOf(project)}/src/${name}`;
const packageOf = (project) => (libs.includes(project) ? `@pis/${project}` : `@pis/${project}/app`);
const importing = (specifier) =>
  `import * as x from '${specifier}';\nexport const y: unknown = x;\n`;
const importingTypes = (specifier) =>
  `import type * as X from '${specifier}';\nexport type Y = keyof typeof X;\n`;

/** Ends a linter that hangs. On a busy machine one takes more than a minute. */
const lintTimeoutMs = 300_000;
/** The linter's messages for each probe, in order; all probes in one process. */
function lint(probes) {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'tools/lint-probes.mjs')],
    {
      cwd: root,
      input: JSON.stringify(probes.map(([file, text]) => ({ file, text }))),
      env: { ...process.env, NODE_OPTIONS: '' },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      timeout: lintTimeoutMs,
    },
  );
  if (status !== 0) throw new Error(`the linter ended with ${signal ?? status}: ${stderr}`);
  return JSON.parse(stdout);
}

it('every project is in the table, and every name in the table is a project', () => {
  const projects = [...libs, ...apps];
  expect(Object.keys(mayImport).sort()).toEqual([...projects].sort());
  for (const [project, allowed] of Object.entries(mayImport))
    expect({ project, unknown: allowed.filter((name) => !projects.includes(name)) }).toEqual({
      project,
      unknown: [],
    });
});

it('the table has no cycle, and no app but all-in-one imports more than types of an app', () => {
  const reaches = (from, to, seen = new Set()) =>
    mayImport[from].some(
      (next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
    );
  for (const project of Object.keys(mayImport)) {
    expect({ project, cycle: reaches(project, project) }).toEqual({ project, cycle: false });
    if (project !== 'all-in-one' && !importsTypesOnly.includes(project))
      expect({ project, apps: mayImport[project].filter((to) => apps.includes(to)) }).toEqual({
        project,
        apps: [],
      });
  }
});

/** What a project imports of the others, also by a dynamic import: `@pis/NAME` or `@pis/NAME/PART`. */
const workspaceImport = /\b(?:from|import)\b *\(?\s*'@pis\/([a-z-]+)((?:\/[a-z-]+)?)'/g;
const isForTests = (file) => /\.spec\.tsx?$|(^|\/)testing(\.ts$|\/)/.test(file);

function importsOf(project) {
  const folder = join(root, folderOf(project), 'src');
  const files = readdirSync(folder, { recursive: true }).filter((file) => /\.tsx?$/.test(file));
  return files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(workspaceImport)]
      .map(([, name, part]) => ({ name, part, isForTests: isForTests(file) }))
      .filter(({ name }) => name !== project),
  );
}
const namesOf = (imports) => [...new Set(imports.map(({ name }) => name))].toSorted();
const projectsAmong = (dependencies = {}) =>
  Object.keys(dependencies)
    .filter((name) => name.startsWith('@pis/'))
    .map((name) => name.slice('@pis/'.length))
    .toSorted();

it('a project imports every project that the table allows it', () => {
  for (const [project, allowed] of Object.entries(mayImport)) {
    const used = namesOf(importsOf(project).filter(({ part }) => part !== '/testing'));
    expect({ project, unused: allowed.filter((name) => !used.includes(name)) }).toEqual({
      project,
      unused: [],
    });
  }
});

it('a project depends on the projects that it imports, and on those that only its tests import for development', () => {
  for (const project of Object.keys(mayImport)) {
    const manifest = readFileSync(join(root, folderOf(project), 'package.json'), 'utf8');
    const { dependencies, devDependencies } = JSON.parse(manifest);
    const imports = importsOf(project);
    const always = namesOf(imports.filter((one) => !one.isForTests));
    const inTests = namesOf(imports).filter((name) => !always.includes(name));
    expect({
      project,
      always: projectsAmong(dependencies),
      inTests: projectsAmong(devDependencies),
    }).toEqual({ project, always, inTests });
  }
});

const refused = [
  ['a value import', at('domain'), importing('@pis/keyring')],
  ['a type-only import', at('domain'), importingTypes('@pis/keyring')],
  ['a re-export', at('domain'), `export * from '@pis/keyring';\n`],
  ['a dynamic import', at('domain'), `export const y = () => import('@pis/keyring');\n`],
  ['a relative path around the package', at('domain'), importing('../../keyring/src/index.js')],
  [
    'a relative path from app to app',
    at('api-gateway'),
    importing('../../rail-executor/src/rail-executor.module.js'),
  ],
  [
    'a value of the dashboard’s server in its pages',
    at('dashboard-web'),
    importing('@pis/dashboard/api'),
  ],
  ['a type of another app', at('event-relay'), importingTypes('@pis/api-gateway/app')],
  ['a test helper in production code', at('api-gateway'), importing('@pis/domain/testing')],
  ['a test helper in the domain', at('domain'), importing('@pis/keyring/testing')],
  ['servers for tests in production code', at('event-store'), importing('@pis/local-servers')],
  [
    'a file of another app, also in a test',
    at('rail-executor', 'probe.pg.spec.ts'),
    importing('../../bank-simulator/src/bank-simulator.module.js'),
  ],
  [
    'an app in the test of a lib',
    at('keyring', 'probe.spec.ts'),
    importing('@pis/rail-executor/app'),
  ],
  [
    'a lib out of bounds, also in a test',
    at('keyring', 'probe.spec.ts'),
    importing('@pis/read-models'),
  ],
  ['an npm package in the domain', at('domain'), importing('zod')],
  ['an npm package other than zod in contracts', at('contracts'), importing('uuid')],
  ['a Node built-in in the domain', at('domain'), importing('node:crypto')],
  ['a Node built-in without its prefix in the domain', at('domain'), importing('crypto')],
  ['the clock in the domain', at('domain'), 'export const y = () => Date.now();\n'],
  ['a new Date() in the domain', at('domain'), 'export const y = () => new Date();\n'],
  ['randomness in the domain', at('domain'), 'export const y = () => Math.random();\n'],
  [
    'globals that reach outside the domain',
    at('domain'),
    'export const y = () => crypto.randomUUID();\n',
  ],
  ['the environment in the domain', at('domain'), 'export const y = () => process.env;\n'],
  ['a timer in the domain', at('domain'), 'export const y = () => setTimeout(() => 1, 1);\n'],
  ['async code in the domain', at('domain'), 'export const y = async () => 1;\n'],
  ['an enum in the domain', at('domain'), 'export enum E { A }\n'],
  ['an enum elsewhere', at('keyring'), 'export enum E { A }\n'],
  ['an any', at('keyring'), 'export const y = (x: any): unknown => x;\n'],
  [
    'an any in a component',
    at('keyring', 'probe.tsx'),
    'export const y = (x: any): unknown => <p>{x}</p>;\n',
  ],
  ['a default export', at('keyring'), 'export default function y() {\n  return 1;\n}\n'],
  [
    'an empty catch',
    at('keyring'),
    'export function y() {\n  try {\n    return JSON.parse("");\n  } catch {}\n}\n',
  ],
];

const permitted = [
  [
    'another app’s module in the test of an app',
    at('rail-executor', 'probe.pg.spec.ts'),
    importing('@pis/bank-simulator/module'),
  ],
  ['zod in contracts', at('contracts'), importing('zod')],
  ['all-in-one composes the apps’ modules', at('all-in-one'), importing('@pis/rail-executor/app')],
  ['a test helper in a spec', at('api-gateway', 'probe.spec.ts'), importing('@pis/domain/testing')],
  [
    'a test helper of a lib out of bounds, in a spec',
    at('read-models', 'probe.pg.spec.ts'),
    importing('@pis/keyring/testing'),
  ],
  [
    'servers in a spec',
    at('event-store', 'probe.pg.spec.ts'),
    importing('@pis/local-servers/testing'),
  ],
  ['servers in a test helper', at('event-store', 'testing.ts'), importing('@pis/local-servers')],
  [
    'servers in a folder of test helpers',
    at('event-store', 'testing/probe.ts'),
    importing('@pis/local-servers'),
  ],
  [
    'a date that came with the command, in the domain',
    at('domain'),
    'export const y = (s: string) => new Date(s).getTime();\n',
  ],
  ['a relative import within a project', at('domain'), importing('./decider.js')],
];

/** They export nothing. */
const notImportable = ['cli', 'all-in-one', 'dashboard-web'];

describe('the linter', () => {
  const pairs = Object.keys(mayImport).flatMap((from) =>
    [...libs, ...apps.filter((app) => !notImportable.includes(app))]
      .filter((to) => to !== from)
      .map((to) => [from, to]),
  );
  let matrix;
  let refusals;
  let permissions;
  beforeAll(() => {
    const texts = pairs.map(([from, to]) => {
      const probe = importsTypesOnly.includes(from) ? importingTypes : importing;
      return [at(from), probe(packageOf(to))];
    });
    const one = ([, file, text]) => [file, text];
    const answers = lint([...texts, ...refused.map(one), ...permitted.map(one)]);
    matrix = answers.splice(0, texts.length);
    refusals = answers.splice(0, refused.length);
    permissions = answers;
  }, lintTimeoutMs);

  it('agrees with the table on every pair of projects', () => {
    const wrong = pairs
      .map(([from, to], i) => ({
        from,
        to,
        allowed: mayImport[from].includes(to),
        messages: matrix[i],
      }))
      .filter(({ allowed, messages }) =>
        allowed
          ? messages.length > 0
          : !messages.some((message) => message.startsWith('@nx/enforce-module-boundaries')),
      );
    expect(wrong).toEqual([]);
    expect(pairs.length).toBeGreaterThan(300);
  });

  it.each(refused.map(([name], i) => [name, i]))('refuses %s', (_name, i) => {
    expect(refusals[i]).not.toEqual([]);
    // Refused by a rule, not because the probe could not be read.
    expect(refusals[i].filter((message) => message.startsWith('null'))).toEqual([]);
  });

  it.each(permitted.map(([name], i) => [name, i]))('allows %s', (_name, i) => {
    expect(permissions[i]).toEqual([]);
  });
});
