import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ScalarScript } from './scalar-script.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-script-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the script of the reference', () => {
  it('is read once however many ask, and tried again after a failure', async () => {
    const file = path.join(folder, 'extract.mjs');
    const script = new ScalarScript(file);
    await expect(script.read()).rejects.toThrow();

    writeFileSync(file, 'process.stdout.write(String(process.pid));');
    const [one, two] = await Promise.all([script.read(), script.read()]);
    expect(one.gzipped.toString()).toMatch(/^\d+$/);
    expect(two).toBe(one);
    expect(await script.read()).toBe(one);
    expect(one.etag).toMatch(/^"[\w-]{43}"$/);
  });

  it('is inflated once, however many take no gzip', async () => {
    const file = path.join(folder, 'extract.mjs');
    writeFileSync(
      file,
      `import { gzipSync } from 'node:zlib';
      process.stdout.write(gzipSync('script'));`,
    );
    const script = new ScalarScript(file);
    const [one, two] = await Promise.all([script.plain(), script.plain()]);
    expect(one.toString()).toBe('script');
    expect(two).toBe(one);
    expect(await script.plain()).toBe(one);
  });

  it('is read by a process that knows none of our settings', async () => {
    const file = path.join(folder, 'extract.mjs');
    writeFileSync(file, 'process.stdout.write(JSON.stringify(Object.keys(process.env)));');
    const { gzipped } = await new ScalarScript(file).read();
    expect(JSON.parse(gzipped.toString())).toEqual([]);
  });
});
