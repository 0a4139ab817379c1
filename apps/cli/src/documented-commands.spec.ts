/** Every command that a document names is there, with the options that it is given. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { groups } from './groups.js';

const root = path.join(import.meta.dirname, '../../..');
const documents = execFileSync('git', ['ls-files', '*.md', '*.yaml', '.env.example'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  // The changelog names commands of former releases, too.
  .filter((file) => file !== '' && file !== 'CHANGELOG.md');

interface Named {
  readonly text: string;
  readonly words: readonly string[];
  /** A line of a block, which a reader runs as it is. */
  readonly runs: boolean;
}

/** Commands in code: a line of a block, or between backticks. */
function commandsIn(file: string): Named[] {
  const text = readFileSync(path.join(root, file), 'utf8').replaceAll(/\\\n\s*/g, ' ');
  const lines = [...text.matchAll(/^ *(?:\.\/|run )pis ([a-z].*)$/gm)];
  const inline = [...text.matchAll(/`(?:\.\/|npx )?pis ([a-z][^`]*)`/g)];
  const named = (runs: boolean) => (match: RegExpMatchArray) => {
    const [command = ''] = (match[1] ?? '').split(/ [>|#]/);
    const words = command.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? [];
    return { text: `${file}: pis ${command}`, words, runs };
  };
  return [...lines.map(named(true)), ...inline.map(named(false))];
}

const named = documents.flatMap(commandsIn);

/** The commands of words such as `rails pause|resume`, and the words after them. */
async function find(words: readonly string[]): Promise<readonly [Command[], string[]]> {
  const [first = '', ...others] = words;
  let found = [await groups[first]?.()].filter((command) => command !== undefined);
  const rest = [...others];
  while (
    found.length === 1 &&
    found[0]?.commands.length !== 0 &&
    rest[0]?.startsWith('-') === false
  ) {
    const names = (rest.shift() ?? '').split('|');
    const of = found[0]?.commands ?? [];
    found = names.flatMap((name) => of.find((command) => command.name() === name) ?? []);
    if (found.length !== names.length) return [[], rest];
  }
  return [found, rest];
}

it('names only commands that are there, in full', async () => {
  const unknown = [];
  for (const { text, words } of named) {
    const [found] = await find(words);
    if (found.length === 0 || found.some(({ commands }) => commands.length > 0)) unknown.push(text);
  }
  expect(named.length).toBeGreaterThan(200);
  expect(unknown).toEqual([]);
});

it('gives commands only options that they have, and those that they need in what a reader runs', async () => {
  const wrong = [];
  for (const { text, words, runs } of named) {
    const [found, rest] = await find(words);
    const given = rest.flatMap((word) => /^\[?(--[a-z-]+)/.exec(word)?.[1] ?? []);
    for (const { options, registeredArguments } of found) {
      const names = options.map(({ long }) => long);
      const needed = options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => long ?? []);
      const values = options.filter(({ required, optional }) => required || optional);
      const isValue = (word: string, before = '') =>
        word.startsWith('-') || values.some(({ long }) => long === before);
      const others = rest.filter((word, index) => !isValue(word, rest[index - 1]));
      const least = registeredArguments.filter(({ required }) => required).length;
      const problems = [
        ...(runs && others.length < least ? ['an argument'] : []),
        ...(others.length > registeredArguments.length && runs ? others : []),
        ...given.filter((option) => !names.includes(option)),
        ...(runs ? needed.filter((option) => !given.includes(option)) : []),
      ];
      if (problems.length > 0) wrong.push(`${text}: ${problems.join(', ')}`);
    }
  }
  expect(wrong).toEqual([]);
});
