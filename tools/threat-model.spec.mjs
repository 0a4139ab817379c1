/** docs/threat-model.md covers each boundary by STRIDE, and names a file that is there in each row. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './workspace.mjs';

const text = readFileSync(join(root, 'docs/threat-model.md'), 'utf8');
const boundaries = text
  .split(/^## /m)
  .slice(1)
  .map((part) => ({
    title: part.split('\n')[0],
    rows: [...part.matchAll(/^\| ([STRIDE]): (.+?) +\| (.+?) +\| (.+?) +\|$/gm)],
    lines: [...part.matchAll(/^\| (?!Threat|---)/gm)].length,
  }));

it('has the nine boundaries of its picture', () => {
  expect(boundaries.map(({ title }) => Number.parseInt(title, 10))).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9,
  ]);
});

it.each(boundaries)('covers all six letters at "$title", one by row', ({ rows, lines }) => {
  expect(rows).toHaveLength(lines);
  expect([...new Set(rows.map(([, letter]) => letter))]).toEqual([...'STRIDE']);
});

it.each(boundaries)('names a file in each row of "$title"', ({ rows }) => {
  for (const [, , threat, , where] of rows) {
    const files = [...where.matchAll(/`([^`]+)`/g)].map(([, file]) => file);
    expect({ threat, files: files.length > 0 }).toEqual({ threat, files: true });
    for (const file of files)
      expect({ file, exists: existsSync(join(root, file)) }).toEqual({ file, exists: true });
  }
});
