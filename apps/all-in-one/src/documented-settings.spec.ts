/** What the documents say about the variables of each app, compared with the apps. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { bankSimulator } from '@pis/bank-simulator/app';
import { railExecutor } from '@pis/rail-executor/app';
import { platformEnv } from '@pis/service-kit';
import { z } from 'zod';
import { allInOneEnv, apps } from './all-in-one-app.js';

const root = path.join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
/** Each app as a process of its own: rail-executor is without the simulated bank then. */
const single = new Map<string, z.ZodRawShape>(
  [...apps, bankSimulator, railExecutor].map(({ name, env }) => [name, env]),
);
/** What an app reads besides the variables that every app reads. */
const ownOf = (shape: z.ZodRawShape) => Object.keys(shape).filter((name) => !(name in platformEnv));

/** The rows of the table in operations.md: the names of apps, and patterns of variables. */
const rows = [
  ...(read('docs/operations.md')
    .split('\n## Configuration\n')[1]
    ?.split('\n## ')[0]
    ?.matchAll(/^\| ([a-z].*?) +\| (.*?) +\|$/gm) ?? []),
].map(([, names = '', variables = '']) => ({
  apps: names.split(', '),
  variables: [...variables.matchAll(/`([A-Z_*]+)`/g)].map(([, pattern = '']) => pattern),
}));

const matches = (pattern: string, name: string) =>
  new RegExp(`^${pattern.replaceAll('*', '.+')}$`).test(name);

it.each([...single])('operations.md lists exactly the variables that %s reads', (app, shape) => {
  const own = ownOf(shape);
  const listed = rows.filter((row) => row.apps.includes(app));
  expect(listed).toHaveLength(1);
  const patterns = listed.flatMap(({ variables }) => variables);
  const isListed = (name: string) => patterns.some((pattern) => matches(pattern, name));
  expect(own.filter((name) => !isListed(name))).toEqual([]);
  const isRead = (pattern: string) => own.some((name) => matches(pattern, name));
  expect(patterns.filter((pattern) => !isRead(pattern))).toEqual([]);
});

it('operations.md lists exactly the variables that only all-in-one reads', () => {
  const ofOthers = apps.flatMap(({ name }) => ownOf(single.get(name) ?? {}));
  const added = ownOf(allInOneEnv).filter((name) => !ofOthers.includes(name));
  const row = rows.find(({ apps: [name] }) => name === 'all-in-one (`npm start`)');
  expect(row?.variables.toSorted()).toEqual(added.toSorted());
});

/** The least PIS_DATABASE_POOL with which an app starts. */
function leastPoolOf(shape: z.ZodRawShape): number {
  const pool = z.object({ pool: { ...platformEnv, ...shape }.PIS_DATABASE_POOL });
  const starts = (size: number) => pool.safeParse({ pool: String(size) }).success;
  return Array.from({ length: 100 }, (_, size) => size).find(starts) ?? 0;
}

it('every document names the least pools with which the apps start', () => {
  const least = new Map([...single].map(([name, shape]) => [name, leastPoolOf(shape)]));
  const [projector, everything] = [least.get('payments-projector'), leastPoolOf(allInOneEnv)];
  least.delete('payments-projector');
  const floor = Math.max(...least.values());
  const statements: readonly (readonly [string, RegExp])[] = [
    [
      '.env.example',
      new RegExp(
        `at least ${floor}, ${projector} for payments-projector, ${everything} for \`npm start\``,
      ),
    ],
    [
      'helm/payment-initiation-service/values.yaml',
      new RegExp(
        `At least ${floor}, ${projector} for payments-projector, ${everything} for all-in-one\\.`,
      ),
    ],
    [
      'helm/README.md',
      new RegExp(
        `at least ${floor}, \`payments-projector\` ${projector} and all-in-one ${everything}\\.`,
      ),
    ],
    ['docs/operations.md', new RegExp(`^\\| \`payments-projector\` .*\\| ${projector} +\\|$`, 'm')],
    ['docs/operations.md', new RegExp(`^\\| all-in-one .*\\| ${everything} +\\|$`, 'm')],
    ['docs/operations.md', new RegExp(`^\\| all others .*\\| ${floor} +\\|$`, 'm')],
  ];
  expect(statements.filter(([file, text]) => !text.test(read(file)))).toEqual([]);
});
