/** What every adapter of DocumentStore does. */
import { createHash, randomBytes } from 'node:crypto';
import type { Keyring, Owner } from '@pis/keyring';
import {
  chunkBytes,
  DocumentMissing,
  type DocumentKeyring,
  type DocumentStore,
} from '../document-store.js';

export interface DocumentWorld {
  readonly keyring: Keyring;
  /** A store on the same place, with this keyring. */
  storeWith(keyring: DocumentKeyring): DocumentStore;
  /** All bytes that the place holds, and how many pieces of unfinished writes. */
  stored(): Promise<{ readonly bytes: Buffer; readonly unfinished: number }>;
}

const owner: Owner = 'originator:7f8b';
const key = 'statements/7f8b/2026-10.pdf';

async function* pieces(...bytes: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* bytes;
}

async function collected(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

export function itStoresDocuments(world: () => DocumentWorld): void {
  const store = () => world().storeWith(world().keyring);
  const write = (bytes: Uint8Array) => store().write(key, owner, pieces(bytes));
  const read = () => collected(store().read(key, owner));

  it.each([0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 23 * chunkBytes + 7])(
    'gives back a document of %i bytes, with its size and SHA-256',
    async (size) => {
      const bytes = randomBytes(size);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const [one, two] = [bytes.subarray(0, size / 3), bytes.subarray(size / 3)];
      const written = await store().write(key, owner, pieces(one, new Uint8Array(), two));
      expect(written).toEqual({ sizeBytes: size, sha256 });
      expect((await read()).equals(bytes)).toBe(true);
    },
  );

  it('gives back any range', async () => {
    const bytes = randomBytes(3 * chunkBytes + 10);
    await write(bytes);
    const ends = [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 2 * chunkBytes, bytes.length];
    for (const start of ends)
      for (const end of ends.filter((at) => at >= start)) {
        const part = await collected(store().read(key, owner, { start, end }));
        expect(part.equals(bytes.subarray(start, end))).toBe(true);
      }
    const beyond = store().read(key, owner, { start: 0, end: bytes.length + 1 });
    await expect(collected(beyond)).rejects.toThrow(RangeError);
  });

  it('opens only the chunks of the range', async () => {
    await write(randomBytes(6 * chunkBytes));
    let opened = 0;
    const counting = world().storeWith({
      ...world().keyring,
      openBytes: (...args) => {
        opened += 1;
        return world().keyring.openBytes(...args);
      },
    });
    const range = { start: 2 * chunkBytes + 5, end: 3 * chunkBytes + 5 };
    await collected(counting.read(key, owner, range));
    expect(opened).toBe(2);
  });

  it('replaces a document as a whole', async () => {
    await write(Buffer.from('first'));
    await write(Buffer.from('second, longer'));
    expect((await read()).toString()).toBe('second, longer');
    expect((await world().stored()).unfinished).toBe(0);
  });

  it('keeps the earlier document when a write is cut off, and cleans up with the next', async () => {
    await write(Buffer.from('whole'));
    async function* broken() {
      // Longer than any part of an upload.
      yield randomBytes(24 * chunkBytes);
      throw new Error('the producer failed');
    }
    await expect(store().write(key, owner, broken())).rejects.toThrow('the producer failed');
    expect((await read()).toString()).toBe('whole');
    await write(Buffer.from('again'));
    expect((await read()).toString()).toBe('again');
    expect((await world().stored()).unfinished).toBe(0);
  });

  it('has no part of a first write that was cut off', async () => {
    async function* broken() {
      yield randomBytes(24 * chunkBytes);
      throw new Error('the producer failed');
    }
    await expect(store().write(key, owner, broken())).rejects.toThrow('the producer failed');
    await expect(read()).rejects.toThrow(DocumentMissing);
  });

  it('knows no document that was never written or was removed, and removes twice', async () => {
    await expect(read()).rejects.toThrow(DocumentMissing);
    await store().remove(key);
    await write(randomBytes(2 * chunkBytes));
    await store().remove(key);
    await store().remove(key);
    await expect(read()).rejects.toThrow(DocumentMissing);
    expect((await world().stored()).bytes.length).toBe(0);
  });

  it('keeps a neighbor whose key begins alike', async () => {
    await store().write(`${key}.2`, owner, pieces(Buffer.from('neighbor')));
    await write(Buffer.from('this'));
    await store().remove(key);
    const neighbor = await collected(store().read(`${key}.2`, owner));
    expect(neighbor.toString()).toBe('neighbor');
  });

  it('stores nothing in the clear', async () => {
    const bytes = Buffer.from('Ada Lovelace '.repeat(100_000));
    await write(bytes);
    const { bytes: stored } = await world().stored();
    expect(stored.length).toBeGreaterThan(bytes.length);
    expect(stored.includes('Ada Lovelace')).toBe(false);
  });

  it('does not open for another owner, nor once the key of its owner is destroyed', async () => {
    await write(Buffer.from('statement'));
    await expect(collected(store().read(key, 'originator:other'))).rejects.toThrow();
    await world().keyring.destroy([owner]);
    await expect(read()).rejects.toMatchObject({ name: 'KeyDestroyed' });
    await expect(write(Buffer.from('again'))).rejects.toMatchObject({ name: 'KeyDestroyed' });
  });

  it('refuses keys that not every store can take', async () => {
    for (const bad of ['', '/a', 'a/', 'a//b', '../a', 'a/../b', 'a b', 'ä', 'a'.repeat(501)])
      await expect(store().write(bad, owner, pieces())).rejects.toThrow('not a document key');
  });
}
