import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigurationError } from './config.js';
import { makeFolder } from './made-folder.js';

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'pis-folder-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

it('makes a folder with its parents, and leaves one that is there', () => {
  const folder = path.join(scratch, 'a/b/c');
  for (let times = 0; times < 2; times += 1) makeFolder('PIS_DATA_DIR', folder, 0o700);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

it.each([
  ['there is a file in its place', 'file', /EEXIST/],
  ['a parent is a file', 'file/a/b', /ENOTDIR/],
  // Node's own mkdir never returns here.
  ['no folder can be made in the parent', '/proc/nope/a', /mkdir '\/proc/],
])('says which variable is wrong when %s', (_, given, reason) => {
  writeFileSync(path.join(scratch, 'file'), '');
  const make = () => makeFolder('PIS_DATA_DIR', path.resolve(scratch, given));
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(/^bad configuration:\n {2}PIS_DATA_DIR: cannot make the folder: /);
  expect(make).toThrow(reason);
});
