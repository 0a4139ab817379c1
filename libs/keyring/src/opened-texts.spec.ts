import { createSecretKey } from 'node:crypto';
import type { Owner } from './owner.js';
import { OpenedTexts } from './opened-texts.js';

const owner: Owner = 'contact:1';
const place = 'payment-1 0';
const key = createSecretKey(Buffer.alloc(32, 1));
const opened = { sealed: 'v3.1.a.b', owner, place, key, version: 1, plaintext: 'secret' };

describe('OpenedTexts', () => {
  it('finds a text only for the same owner and place', () => {
    const texts = new OpenedTexts();
    texts.remember(opened);
    expect(texts.find('v3.1.a.b', owner, place)).toEqual(opened);
    expect(texts.find('v3.1.a.c', owner, place)).toBeUndefined();
    expect(texts.find('v3.1.a.b', 'contact:2', place)).toBeUndefined();
    for (const other of ['payment-2 0', undefined])
      expect(texts.find('v3.1.a.b', owner, other)).toBeUndefined();
  });

  it('finds no other text that begins in the same way', () => {
    const texts = new OpenedTexts();
    const beginning = `v3.1.nonce.${'a'.repeat(100)}`;
    texts.remember({ ...opened, sealed: `${beginning}b` });
    expect(texts.find(`${beginning}b`, owner, place)).toBeDefined();
    for (const other of [beginning, `${beginning}c`, `${beginning}bc`])
      expect(texts.find(other, owner, place)).toBeUndefined();
  });

  it('forgets all of them when it is told to', () => {
    const texts = new OpenedTexts();
    texts.remember(opened);
    texts.clear();
    expect(texts.find('v3.1.a.b', owner, place)).toBeUndefined();
  });

  it('keeps a bounded number of texts of a bounded length', () => {
    const texts = new OpenedTexts();
    const names = Array.from({ length: 10_000 }, (_, n) => `v3.1.a.${n}`);
    for (const sealed of names) texts.remember({ ...opened, sealed });
    const kept = names.filter((name) => texts.find(name, owner, place) !== undefined);
    expect(kept.length).toBeLessThanOrEqual(2_000);
    expect(kept).toContain(names.at(-1));
    const long = `v3.1.a.${'b'.repeat(10_000)}`;
    texts.remember({ ...opened, sealed: long });
    expect(texts.find(long, owner, place)).toBeUndefined();
  });
});
