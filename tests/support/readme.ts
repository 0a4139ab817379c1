/** The commands of the README, and a checkout to run them in. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { root } from './process.js';

/** State of a checkout, which a session must neither find nor leave. */
const own = ['.cache', '.data', '.git', '.nx'];

/** The commands of one terminal: its ```sh blocks in the README, in order. */
export function sessionOf(terminal: string): string {
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
  const block = new RegExp(`<!-- session: ${terminal} -->\n+\`\`\`sh\n(.*?)\n\`\`\``, 'gs');
  const commands = [...readme.matchAll(block)].map(([, text]) => text);
  if (commands.length === 0) throw new Error(`README.md has no commands for terminal ${terminal}`);
  return commands.join('\n');
}

/** A folder that looks like the checkout and shares its files, but has no state yet. */
export function freshCheckout(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(root))
    if (!own.includes(name)) symlinkSync(path.join(root, name), path.join(folder, name));
  return folder;
}
