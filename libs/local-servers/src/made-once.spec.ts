import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { madeOnce } from './made-once.js';

describe('a file that is made once', () => {
  let folder: string;
  let place: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pis-made-'));
    place = join(folder, 'cache', 'program');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is made by one of many who need it at the same time, and is complete for all of them', async () => {
    let making = 0;
    const seen = Array.from({ length: 4 }, async () => {
      await madeOnce(place, async (draft) => {
        making += 1;
        writeFileSync(draft, 'half');
        await nextTurn();
        expect(existsSync(place)).toBe(false);
        writeFileSync(draft, 'whole');
      });
      return readFileSync(place, 'utf8');
    });
    expect(await Promise.all(seen)).toEqual(['whole', 'whole', 'whole', 'whole']);
    expect(making).toBe(1);
  });

  it('is made by the next one if the first fails, without what the first left', async () => {
    const failing = madeOnce(place, (draft) => {
      mkdirSync(draft);
      throw new Error('no network');
    });
    await expect(failing).rejects.toThrow('no network');
    expect(existsSync(place)).toBe(false);
    await madeOnce(place, (draft) => {
      expect(existsSync(draft)).toBe(false);
      writeFileSync(draft, 'whole');
    });
    expect(readFileSync(place, 'utf8')).toBe('whole');
  });

  it('is made anew after a process died in the middle of it', async () => {
    mkdirSync(`${place}.draft`, { recursive: true });
    writeFileSync(join(`${place}.draft`, 'half'), '');
    await madeOnce(place, (draft) => mkdirSync(draft));
    expect(existsSync(join(place, 'half'))).toBe(false);
  });
});
