/** .github/CODEOWNERS has one line for each app and library, and none for one that is gone. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './workspace.mjs';

const lines = readFileSync(join(root, '.github/CODEOWNERS'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/ +/));
const folders = ['apps', 'libs'].flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => `/${folder}/${name}/`),
);

it('every app and every library has a line of its own', () => {
  const owned = lines.map(([pattern]) => pattern);
  expect(owned.filter((pattern) => /^\/(apps|libs)\//.test(pattern)).toSorted()).toEqual(
    folders.toSorted(),
  );
  expect(new Set(owned).size).toBe(owned.length);
});

it('everything else has an owner, too, and every line names teams and what is there', () => {
  expect(lines[0]?.[0]).toBe('*');
  for (const [pattern, ...owners] of lines) {
    if (pattern !== '*')
      expect([pattern, existsSync(join(root, pattern))]).toEqual([pattern, true]);
    expect(owners.length).toBeGreaterThan(0);
    for (const owner of owners) expect(owner).toMatch(/^@[\w-]+\/[\w-]+$/);
  }
});
