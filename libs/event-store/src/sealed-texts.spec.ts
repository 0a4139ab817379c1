import { inspect } from 'node:util';
import { SealedTexts } from './sealed-texts.js';
import { MemorySealing } from './testing/memory-sealing.js';

it('remembers no plain text', async () => {
  const texts = new SealedTexts(new MemorySealing());
  const sealed = await texts.seal('contact:1', 'the name of Ada');
  expect(await texts.seal('contact:1', 'the name of Ada')).toBe(sealed);
  expect(inspect(texts, { depth: null })).toContain(sealed);
  expect(inspect(texts, { depth: null })).not.toContain('Ada');
});
