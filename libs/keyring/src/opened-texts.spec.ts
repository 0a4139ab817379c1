import { createSecretKey } from 'node:crypto';
import { OpenedTexts } from './opened-texts.js';

const key = createSecretKey(Buffer.alloc(32, 1));
const opened = { key, additionalData: 'v3/1/contact:1 payment-1 0', plaintext: 'secret' };

describe('OpenedTexts', () => {
  it('finds a text only with the same key object and for the same owner, version and place', () => {
    const texts = new OpenedTexts();
    texts.remember('v3.1.a.b', opened);
    expect(texts.find('v3.1.a.b', key, opened.additionalData)).toBe('secret');
    expect(texts.find('v3.1.a.c', key, opened.additionalData)).toBeUndefined();
    expect(texts.find('v3.1.a.b', key, 'v3/1/contact:2 payment-1 0')).toBeUndefined();
    const sameBytes = createSecretKey(Buffer.alloc(32, 1));
    expect(texts.find('v3.1.a.b', sameBytes, opened.additionalData)).toBeUndefined();
  });

  it('finds an empty text', () => {
    const texts = new OpenedTexts();
    texts.remember('v3.1.a.b', { ...opened, plaintext: '' });
    expect(texts.find('v3.1.a.b', key, opened.additionalData)).toBe('');
  });

  it('forgets all of them when it is told to', () => {
    const texts = new OpenedTexts();
    texts.remember('v3.1.a.b', opened);
    texts.clear();
    expect(texts.find('v3.1.a.b', key, opened.additionalData)).toBeUndefined();
  });

  it('keeps a bounded number of texts of a bounded length', () => {
    const texts = new OpenedTexts();
    const names = Array.from({ length: 10_000 }, (_, n) => `v3.1.a.${n}`);
    for (const name of names) texts.remember(name, opened);
    const kept = names.filter((name) => texts.find(name, key, opened.additionalData) === 'secret');
    expect(kept.length).toBeLessThanOrEqual(2_000);
    expect(kept).toContain(names.at(-1));
    const long = `v3.1.a.${'b'.repeat(10_000)}`;
    texts.remember(long, opened);
    expect(texts.find(long, key, opened.additionalData)).toBeUndefined();
  });
});
