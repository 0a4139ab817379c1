/**
 * Lints texts that are not on disk, as if they were: `[{ file, text }]` as JSON on stdin, one list of
 * messages per probe as JSON on stdout. A process of its own, because ESLint and Nx load their plugins
 * in ways that a test runner's module registry does not stand.
 *
 * Without a cached project graph the Nx rule skips itself without a word, hence the first step.
 */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);
const nx = createRequire(import.meta.url).resolve('nx/bin/nx.js');
const graphTimeoutMs = 60_000;
execFileSync(process.execPath, [nx, 'show', 'projects'], {
  stdio: 'ignore',
  timeout: graphTimeoutMs,
});

const probes = JSON.parse(await text(process.stdin));
// Typed rules need the file in the compiler's program; a probe is in none.
const untyped = {
  files: ['**/*.ts'],
  ...tseslint.configs.disableTypeChecked,
  languageOptions: { parserOptions: { project: null, program: null, projectService: false } },
};
const eslint = new ESLint({ cwd: root, overrideConfig: [untyped] });

const answers = [];
for (const probe of probes) {
  const [result] = await eslint.lintText(probe.text, { filePath: join(root, probe.file) });
  const messages = result?.messages ?? [{ ruleId: null, message: 'not linted at all' }];
  answers.push(messages.map((m) => `${m.ruleId}: ${m.message.split('\n')[0]}`));
}
process.stdout.write(JSON.stringify(answers));
