/** Lint: typed rules that catch real faults, and the module boundaries of tools/boundaries.mjs. */
import nx from '@nx/eslint-plugin';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';
import { importsTypesOnly, mayImport } from './tools/boundaries.mjs';

const depConstraints = [
  ...Object.entries(mayImport).map(([project, allowed]) => ({
    sourceTag: `is:${project}`,
    onlyDependOnLibsWithTags: allowed.map((name) => `is:${name}`),
  })),
  { sourceTag: 'is:domain', bannedExternalImports: ['*'] },
  { sourceTag: 'is:contracts', allowedExternalImports: ['zod'] },
];

const code = ['{apps,libs}/**/*.{ts,tsx}'];
const tests = ['**/*.spec.{ts,tsx}', '**/testing.ts', '**/testing/**'];
/** What specs and test helpers may import beyond their project's production code: servers and helpers. */
const forTests = ['^@pis/local-servers(/testing)?$', '^@pis/[a-z-]+/testing$'];
// A later entry replaces the options of an earlier one: what both need is named here, said in both.
const ban = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });
const noEnum = { selector: 'TSEnumDeclaration', message: 'a union of string literals instead' };
const testHelpers = { regex: '^@pis/.+/testing$', message: 'test helpers are for specs' };
const nodeBuiltins = {
  regex: '^node:|^(fs|path|crypto|os|https?|net|child_process|timers)(/|$)',
  message: 'domain is pure',
};

export default tseslint.config(
  { ignores: ['**/dist/**', '**/generated/**', '.cache/**', '.data/**', '.nx/**'] },
  {
    files: [...code, 'tests/**/*.ts'],
    extends: [...tseslint.configs.recommended],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: ['./tsconfig.json', './apps/*/tsconfig.browser.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { '@nx': nx },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'no-restricted-syntax': ['error', noEnum],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: code,
    plugins: { '@nx': nx },
    rules: { '@nx/enforce-module-boundaries': ['error', { depConstraints }] },
  },
  {
    files: tests.map((pattern) => `{apps,libs}/${pattern}`),
    plugins: { '@nx': nx },
    rules: { '@nx/enforce-module-boundaries': ['error', { depConstraints, allow: forTests }] },
  },
  {
    // "No app imports an app, all-in-one and tests aside": through its module, as all-in-one does.
    files: ['apps/**/*.spec.{ts,tsx}', 'apps/**/testing/**'],
    plugins: { '@nx': nx },
    rules: {
      '@nx/enforce-module-boundaries': [
        'error',
        { depConstraints, allow: [...forTests, '^@pis/[a-z-]+/module$'] },
      ],
    },
  },
  { files: code, ignores: tests, rules: ban(testHelpers) },
  {
    files: importsTypesOnly.map((name) => `apps/${name}/**/*.{ts,tsx}`),
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^@pis/', allowTypeImports: true, message: 'types only' }] },
      ],
    },
  },
  {
    files: ['libs/domain/**/*.ts'],
    ignores: tests,
    rules: {
      ...ban(nodeBuiltins, testHelpers),
      'no-restricted-globals': [
        'error',
        'process',
        'fetch',
        'setTimeout',
        'setInterval',
        'crypto',
        'performance',
        'Buffer',
        'console',
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now' },
        { object: 'Math', property: 'random' },
      ],
      'no-restricted-syntax': [
        'error',
        noEnum,
        {
          selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
          message: 'the time comes in with the command',
        },
        { selector: ':function[async=true]', message: 'domain is synchronous' },
      ],
    },
  },
  prettier,
);
