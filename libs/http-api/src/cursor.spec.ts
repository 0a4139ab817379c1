import { testKeyring } from '@pis/keyring/testing';
import { Cursors } from './cursor.js';

const place = { createdAt: '2026-03-01T10:00:00.123Z', id: '7d0c5b7e-3f5a-4c6e-9b0a-2f6f0c1d2e3f' };
const [mine, theirs] = ['organization-1', 'organization-2'] as const;

describe('cursors', () => {
  const cursors = new Cursors(testKeyring());
  const cursor = cursors.encode('payments', mine, place);

  it('continue where the page ended', () => {
    expect(cursors.decode('payments', mine, cursor)).toEqual(place);
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('do not work for another organization or another list', () => {
    expect(cursors.decode('payments', theirs, cursor)).toBeNull();
    expect(cursors.decode('contacts', mine, cursor)).toBeNull();
    expect(new Cursors(testKeyring(9)).decode('payments', mine, cursor)).toBeNull();
  });

  it('are refused if any part was altered or invented', () => {
    const text = Buffer.from(cursor, 'base64url').toString();
    for (let at = 0; at < text.length; at += 1) {
      const altered = text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1);
      const forged = Buffer.from(altered).toString('base64url');
      expect(cursors.decode('payments', mine, forged)).toBeNull();
    }
    for (let at = 0; at < cursor.length; at += 1) {
      const respelled =
        cursor.slice(0, at) + (cursor[at] === 'B' ? 'C' : 'B') + cursor.slice(at + 1);
      expect(cursors.decode('payments', mine, respelled)).toBeNull();
    }
    for (const made of ['', 'x', '%%%', 'a'.repeat(10_000), Buffer.from('/').toString('base64url')])
      expect(cursors.decode('payments', mine, made)).toBeNull();
  });
});
