import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gitFiles } from './git-files.mjs';
import { root } from './workspace.mjs';

it('in CI, a check of the files of the repository fails where git cannot list them', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'pis-no-git-'));
  try {
    expect(() => gitFiles(['--cached'], { cwd, isCi: true })).toThrow('git cannot list the files');
    expect(gitFiles(['--cached'], { cwd, isCi: false })).toBeNull();
  } finally {
    rmSync(cwd, { recursive: true });
  }
});

it('no check asks git for its files in another way', () => {
  for (const file of ['tools/check.mjs', 'tools/secrets.mjs'])
    expect(readFileSync(join(root, file), 'utf8')).not.toContain("'ls-files'");
});
