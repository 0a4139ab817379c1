/**
 * Lints texts as if they were files on disk: `[{ file, text }]` as JSON on stdin, one list of messages for each
 * probe as JSON on stdout. A separate process, because Jest's module registry cannot load the plugins of ESLint
 * and Nx.
 *
 * The first step creates the cached project graph. Without it, the Nx rule silently skips itself.
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
// Typed rules need the file in the compiler's program. A probe is in no program.
const untyped = {
  files: ['**/*.{ts,tsx}'],
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
