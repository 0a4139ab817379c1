/**
 * Four Jest projects, by what a test needs. `unit` needs nothing but Node and is part of
 * `npm run check`. `postgres` and `kafka` need these servers, which Jest's global setup starts;
 * `npm test -- --project servers` runs both. `scenarios` starts whole systems as processes.
 *
 * PIS_TEST_ROOTS limits a run to some folders: the `test` targets of Nx set it.
 */
import { delimiter, join } from 'node:path';

const workspace = import.meta.dirname;
// Not the whole workspace: Jest lists every file below a root, and node_modules has most of them.
const folders = process.env.PIS_TEST_ROOTS?.split(delimiter) ?? ['apps', 'libs', 'tests', 'tools'];
const roots = folders.map((folder) => join(workspace, folder));
// One cache per checkout, out of the folder for temporary files: a test run has a folder of its own there.
const cacheDirectory = join(workspace, '.cache', 'jest');

const below = (folder) => `^<rootDir>/(?:.*/)?${folder.replace('.', '\\.')}/`;

const swc = (parser, transform) => [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: 'inline',
    jsc: {
      parser: { syntax: 'typescript', ...parser },
      transform,
      target: 'es2023',
      keepClassNames: true,
    },
    module: { type: 'es6' },
  },
];

const common = {
  roots,
  cacheDirectory,
  testEnvironment: join(workspace, 'tools/jest/environment.mjs'),
  // Sources, not builds: the workspace packages export both (package.json `exports`).
  testEnvironmentOptions: { customExportConditions: ['@pis/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.ts$': swc({ decorators: true }, { legacyDecorator: true, decoratorMetadata: true }),
    '^.+\\.tsx$': swc({ tsx: true }, { react: { runtime: 'automatic' } }),
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // Below this folder: the checkout itself may be in a folder of such a name.
  testPathIgnorePatterns: ['node_modules', 'dist'].map(below),
  modulePathIgnorePatterns: ['dist', '.data', '.cache'].map(below),
};

const needsServer = '\\.(pg|kafka|esdb)\\.spec\\.ts$';
const startedBy = (setup) => ({
  globalSetup: join(workspace, 'tools/jest', setup),
  globalTeardown: join(workspace, 'tools/jest/stop-servers.mjs'),
});

export default {
  // A limit, not a measure: a busy machine is slow.
  testTimeout: 120_000,
  cacheDirectory,
  testSequencer: join(workspace, 'tools/jest/slowest-first.mjs'),
  // Module registries of finished test files stay in a worker's memory: a fresh one is cheaper.
  workerIdleMemoryLimit: '1GB',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testRegex: '(apps|libs|tools)/.*\\.spec\\.(tsx?|mjs)$',
      testPathIgnorePatterns: [...common.testPathIgnorePatterns, needsServer],
    },
    {
      ...common,
      ...startedBy('for-postgres.mjs'),
      displayName: 'postgres',
      testRegex: '(apps|libs)/.*\\.(pg|esdb)\\.spec\\.ts$',
    },
    {
      ...common,
      ...startedBy('for-kafka.mjs'),
      displayName: 'kafka',
      testRegex: '(apps|libs)/.*\\.kafka\\.spec\\.ts$',
    },
    {
      ...common,
      ...startedBy('for-scenarios.mjs'),
      displayName: 'scenarios',
      testRegex: 'tests/.*\\.spec\\.ts$',
    },
  ],
};
