import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CommandFailed } from './output.js';
import { writeForOwner } from './owner-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-owner-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('writes a file that only its owner may read, also in the place of one that others may', () => {
  const file = path.join(folder, 'evidence.html');
  for (const before of [null, 'older']) {
    if (before !== null) writeFileSync(file, before, { mode: 0o644 });
    writeForOwner(file, 'evidence');
    expect([statSync(file).mode & 0o777, readFileSync(file, 'utf8')]).toEqual([0o600, 'evidence']);
    expect(readdirSync(folder)).toEqual(['evidence.html']);
    rmSync(file);
  }
});

it('says why a file cannot be written, and leaves nothing', () => {
  expect(() => writeForOwner(path.join(folder, 'none', 'evidence.html'), 'evidence')).toThrow(
    CommandFailed,
  );
  expect(readdirSync(folder)).toEqual([]);
});
