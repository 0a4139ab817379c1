/**
 * Looks for secrets in the files of the repository: with secretlint, and by the forms of our own keys. Lines that hold
 * none end with a comment: secretlint-disable-line.
 */
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gitFiles } from './git-files.mjs';
import { node, root } from './workspace.mjs';

/** Digests look like secrets, and pictures hold no text. */
const notText = /(^|\/)(package-lock\.json|go\.sum)$|\.(png|ico|jpg|ttf|woff2?|pdf|gz|zip)$/;
/** Ours. Shorter keys are made up for tests. The secret of the API's examples counts from 0 to f. */
const ownForms = {
  'API key': /\bpis_(?:test|live)_[\w-]{43}(?![\w-])/,
  'webhook secret': /secret\w*["']?\s*[:=]\s*["']?(?!(?:0123456789abcdef){4})[0-9a-f]{64}\b/i,
  'master key': /PIS_MASTER_KEYS?["']?\s*[:=]\s*["']?[\w+/-]{43}=/,
  'payment link': /\/pay\/[\w-]{43}(?![\w-])/,
};
const isMarked = /secretlint-disable-line/;
const outputMaxBytes = 64 * 1024 * 1024;

/** The files under version control, and new ones. Null outside of git. @throws as `gitFiles` */
export function filesOfRepository() {
  const files = gitFiles(['--cached', '--others', '--exclude-standard', '--deduplicate']);
  return files?.filter((file) => !notText.test(file)) ?? null;
}

/** @returns one line for each secret, without the secret */
export function secretsIn(files, cwd = root) {
  return [...knownSecretsIn(files, cwd), ...ownSecretsIn(files, cwd)];
}

/** Those of other services. What git tracks is looked at, also where .gitignore names it. */
function knownSecretsIn(files, cwd) {
  const { status, stdout, stderr, error } = spawnSync(
    node,
    [
      join(root, 'node_modules/secretlint/bin/secretlint.js'),
      ...['--format=json', '--maskSecrets', '--no-color'],
      ...['--secretlintrc', join(root, '.secretlintrc.json')],
      ...['--no-gitignore', '--no-glob'],
      ...files,
    ],
    { cwd, encoding: 'utf8', maxBuffer: outputMaxBytes },
  );
  if (status !== 0 && status !== 1) throw error ?? new Error(`secretlint failed: ${stderr}`);
  if (stdout.trim() === '') return [];
  return JSON.parse(stdout).flatMap(({ filePath, messages }) =>
    messages.map(({ loc, ruleId }) => `${filePath}:${loc.start.line}: ${ruleId}`),
  );
}

function ownSecretsIn(files, cwd) {
  return files
    .filter((file) => lstatSync(join(cwd, file), { throwIfNoEntry: false })?.isFile())
    .flatMap((file) =>
      readFileSync(join(cwd, file), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          Object.entries(ownForms)
            .filter(([, form]) => form.test(line) && !isMarked.test(line))
            .map(([what]) => `${file}:${index + 1}: ${what}`),
        ),
    );
}
