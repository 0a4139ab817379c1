/** The commands of the README, and a checkout to run them in. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { root } from './process.js';

/** State of a checkout, which a session must neither find nor leave. */
const own = ['.cache', '.data', '.git', '.nx'];

/** The commands of one terminal: its ```sh blocks in the README, or in another document, in order. */
export function sessionOf(terminal: string, document = 'README.md'): string {
  const readme = readFileSync(path.join(root, document), 'utf8');
  const block = new RegExp(`<!-- session: ${terminal} -->\n+\`\`\`sh\n(.*?)\n\`\`\``, 'gs');
  const commands = [...readme.matchAll(block)].map(([, text]) => text);
  if (commands.length === 0)
    throw new Error(`${document} has no commands for terminal ${terminal}`);
  return commands.join('\n');
}

/** A folder that looks like the checkout and shares its files, but has no state yet. */
export function freshCheckout(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(root))
    if (!own.includes(name)) symlinkSync(path.join(root, name), path.join(folder, name));
  return folder;
}

const distributedWay = () =>
  readFileSync(path.join(root, 'README.md'), 'utf8').split('## The distributed way')[1] ?? '';

/** The apps of the distributed way, in the order in which the README starts them. */
export function appsOfTheReadme(): readonly string[] {
  const apps = [
    ...distributedWay().matchAll(/^PORT=\d+ (?:\w+=\S+ )*npm start -- ([a-z-]+)(?: #.*)?$/gm),
  ];
  if (apps.length === 0) throw new Error('README.md starts no app');
  return apps.map(([, app = '']) => app);
}

/** PIS_BANKS_FILE as the README sets it, for a system whose state is in `dataDir` instead of `./.data`. */
export function banksFileOfTheReadme(dataDir: string): string {
  const [, file] = /^export PIS_BANKS_FILE=\$PWD\/\.data\/(\S+)/m.exec(distributedWay()) ?? [];
  if (file === undefined) throw new Error('README.md sets no PIS_BANKS_FILE');
  return path.join(dataDir, file);
}
