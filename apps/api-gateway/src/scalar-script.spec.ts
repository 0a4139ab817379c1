import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ScalarScript } from './scalar-script.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-script-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the script of the reference', () => {
  it('is read and inflated once, regardless of the number of requests', async () => {
    const file = path.join(folder, 'scalar.js.gz');
    const script = new ScalarScript(pathToFileURL(file));
    expect(() => script.read()).toThrow('ENOENT');

    writeFileSync(file, gzipSync('script'));
    const first = script.read();
    expect(first.gzipped).toEqual(gzipSync('script'));
    expect(first.etag).toMatch(/^"[\w-]{43}"$/);
    const [one, two] = await Promise.all([script.plain(), script.plain()]);
    expect(one.toString()).toBe('script');
    expect(two).toBe(one);

    rmSync(file);
    expect(script.read()).toBe(first);
    expect(await script.plain()).toBe(one);
  });
});
