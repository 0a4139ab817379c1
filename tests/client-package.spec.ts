/** The package of the client, as it is installed outside of the workspace. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './support/process.js';

const limitMs = 120_000;
const project = mkdtempSync(path.join(os.tmpdir(), 'client-package-'));
const installed = path.join(project, 'node_modules/@pis/client');

function run(command: string, args: readonly string[], cwd = project): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  expect({ command, status, output: status === 0 ? '' : stdout + stderr }).toEqual({
    ...{ command, status: 0, output: '' },
  });
  return stdout;
}

beforeAll(() => {
  const readme = readFileSync(path.join(root, 'libs/client/README.md'), 'utf8');
  const [command = ''] = /^npm pack .*$/m.exec(readme) ?? [];
  const [file = ''] = /(?<=^npm install \/tmp\/)\S+$/m.exec(readme) ?? [];
  const [npm = '', ...args] = command.replace('/tmp', project).split(' ');
  run(npm, args, root);
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', path.join(project, file), '--strip-components=1', '-C', installed]);
}, limitMs);

afterAll(() => rmSync(project, { recursive: true, force: true }));

it('brings everything that it imports, for import and require', () => {
  const { dependencies } = JSON.parse(
    readFileSync(path.join(installed, 'package.json'), 'utf8'),
  ) as { readonly dependencies?: object };
  expect(dependencies ?? {}).toEqual({});
  const say = 'console.log(typeof PisClient, typeof verifyWebhook)';
  writeFileSync(
    path.join(project, 'a.mjs'),
    `import { PisClient, verifyWebhook } from '@pis/client'; ${say}`,
  );
  writeFileSync(
    path.join(project, 'b.cjs'),
    `const { PisClient, verifyWebhook } = require('@pis/client'); ${say}`,
  );
  for (const file of ['a.mjs', 'b.cjs'])
    expect(run(process.execPath, [file])).toBe('function function\n');
});

it(
  'has types for a strict project',
  () => {
    writeFileSync(
      path.join(project, 'app.mts'),
      `import { PisClient, type Payment } from '@pis/client';
       const client = new PisClient({ baseUrl: 'http://127.0.0.1', apiKey: 'pis_test_a' });
       export const status: Promise<Payment['status']> = client.payments.get('a').then((payment) => payment.status);
       // @ts-expect-error: there is no such field
       export const amount = client.payments.get('a').then((payment) => payment.amount);`,
    );
    const strict = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes'];
    const target = ['--module', 'nodenext', '--target', 'es2022', '--noEmit'];
    const types = ['--typeRoots', path.join(root, 'node_modules/@types'), '--types', 'node'];
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    run(process.execPath, [compiler, ...strict, ...target, ...types, 'app.mts']);
  },
  limitMs,
);
