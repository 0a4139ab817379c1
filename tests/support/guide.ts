/** The commands of docs/kubernetes.md, as an operator types them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { Values } from './helm.js';
import { root } from './process.js';

const guide = () => readFileSync(path.join(root, 'docs/kubernetes.md'), 'utf8');

/** All commands of a section, in order. @throws if it has none */
export function commandsUnder(heading: string): string {
  const [, section] = guide().split(`\n## ${heading}\n`);
  const [text = ''] = section?.split('\n## ') ?? [];
  return joined(text, heading);
}

/** The values that a section shows. @throws if it shows none */
export function valuesUnder(heading: string): readonly Values[] {
  const [, section] = guide().split(`\n## ${heading}\n`);
  const [text = ''] = section?.split('\n## ') ?? [];
  const blocks = [...text.matchAll(/^ *```yaml\n(.*?)\n *```$/gms)];
  if (blocks.length === 0) throw new Error(`docs/kubernetes.md has no values under ${heading}`);
  return blocks.map(([, block = '']) => parse(block) as Values);
}

/** Each block of commands of the guide that has `words` in it. @throws if there is none */
export function blocksWith(words: string): readonly string[] {
  const blocks = blocksIn(guide()).filter((block) => block.includes(words));
  if (blocks.length === 0) throw new Error(`docs/kubernetes.md has no commands with ${words}`);
  return blocks;
}

/**
 * Single commands: one begins with each line that begins with one of the `words`, and lines of its text that follow
 * belong to it.
 */
export function commandsIn(text: string, words: readonly string[]): readonly string[] {
  return text.split(new RegExp(`\\n(?=(?:${words.join('|')}))`));
}

function joined(text: string, heading: string): string {
  const blocks = blocksIn(text);
  if (blocks.length === 0) throw new Error(`docs/kubernetes.md has no commands under ${heading}`);
  return blocks.join('\n');
}

function blocksIn(text: string): readonly string[] {
  return [...text.matchAll(/^```bash\n(.*?)\n```$/gms)].map(([, block = '']) => block);
}
