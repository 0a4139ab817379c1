/**
 * The Nx plugin of this workspace. It gives every project the same targets, so that no package.json
 * repeats them: `build`, `lint`, `typecheck` and `test`, all cached. A package.json can still replace
 * one of them under `nx.targets`.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const swc =
  "swc src -d dist --strip-leading-paths --ignore '**/*.spec.*' --config-file ../../.swcrc --quiet";
/** Of a project that puts more into `dist` than its compiled sources. */
const assetsScript = 'build-assets.mjs';
/** Everything that a test of the whole system can read. */
const wholeWorkspace = ['{workspaceRoot}/**/*'];
/** The Prisma client is generated code that other projects' types refer to. */
const generated = [{ projects: ['@pis/read-models'], target: 'generate' }];
/** Jest's global setup starts the servers and migrates their databases with built code. */
const builtForServers = [{ projects: ['@pis/local-servers', '@pis/read-models'], target: 'build' }];

export const name = 'workspace';

export const createNodesV2 = [
  '{{apps,libs}/*/package.json,tests/tsconfig.json,tools/boundaries.mjs}',
  (files, _options, { workspaceRoot }) =>
    files.map((file) => {
      const root = dirname(file);
      const isProject = /^(apps|libs)\//.test(root);
      const project = isProject ? packageProject(root, workspaceRoot) : specialProjects[root];
      return [file, { projects: { [root]: project } }];
    }),
];

function packageProject(root, workspaceRoot) {
  const hasAssets = existsSync(join(workspaceRoot, root, assetsScript));
  const hasSchema = existsSync(join(workspaceRoot, root, 'prisma', 'schema.prisma'));
  return {
    tags: [`is:${basename(root)}`],
    targets: {
      ...(hasSchema ? { generate: generate(root) } : {}),
      build: {
        command: hasAssets ? `${swc} && node ${assetsScript}` : swc,
        options: { cwd: root },
        ...(hasSchema ? { dependsOn: ['generate'] } : {}),
      },
      lint: lint(),
      typecheck: typecheck(),
      test: test(root, ['default', '^production', 'tests']),
    },
  };
}

const specialProjects = {
  tests: {
    name: 'tests',
    // They start the apps as processes, which no import shows.
    implicitDependencies: ['@pis/*'],
    targets: {
      lint: lint(),
      typecheck: typecheck(),
      test: {
        ...test('tests', [...wholeWorkspace, 'tests']),
        // They start every app.
        dependsOn: [{ projects: ['*'], target: 'build' }],
      },
    },
  },
  tools: {
    name: 'tools',
    targets: {
      // No TypeScript: its lint needs no compiler program, and its tests read the whole workspace.
      lint: lint(),
      test: test('tools', [...wholeWorkspace, 'tests']),
    },
  },
};

function lint() {
  return { executor: './tools/nx:lint', dependsOn: generated };
}

function typecheck() {
  return { executor: './tools/nx:typecheck', dependsOn: generated };
}

function test(root, inputs) {
  return {
    executor: './tools/nx:test',
    inputs,
    outputs: [`{workspaceRoot}/${reportOf(root)}`],
    dependsOn: builtForServers,
  };
}

/** Jest's report on a project, from the workspace root. */
export function reportOf(root) {
  return `.cache/test-reports/${root.replace('/', '-')}.json`;
}

function generate(root) {
  return {
    command: 'node prisma-generate.mjs',
    options: { cwd: root },
    inputs: ['{projectRoot}/prisma/schema.prisma', '{projectRoot}/prisma-generate.mjs'],
    outputs: ['{projectRoot}/src/generated'],
    cache: true,
  };
}
