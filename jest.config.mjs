/**
 * Three Jest projects, told apart by what a test needs: `unit` needs nothing but Node and is part of
 * `npm run check`; `servers` needs the real PostgreSQL, Kafka or the EventStoreDB stand-in, which
 * `tools/test.mjs` starts once per run; `scenarios` starts whole systems as processes.
 * Run one with `npm test -- --project unit`.
 */
const common = {
  testEnvironment: 'node',
  // Sources, not builds: the workspace packages export both (package.json `exports`).
  testEnvironmentOptions: { customExportConditions: ['@pis/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2023',
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/', '/.data/', '/.cache/'],
};

const needsServer = '\\.(pg|kafka|esdb)\\.spec\\.ts$';

export default {
  // A limit, not a measure: a busy machine is slow.
  testTimeout: 120_000,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testRegex: '(apps|libs|tools)/.*\\.spec\\.(ts|mjs)$',
      testPathIgnorePatterns: [...common.testPathIgnorePatterns, needsServer],
    },
    { ...common, displayName: 'servers', testRegex: `(apps|libs)/.*${needsServer}` },
    { ...common, displayName: 'scenarios', testRegex: 'tests/.*\\.spec\\.ts$' },
  ],
};
