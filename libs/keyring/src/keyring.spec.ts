import { CannotOpen, createKeyring } from './keyring.js';
import { testKeyring } from './testing.js';

const owner = 'contact:5f0c3c3e-6c0a-4a59-9d7a-0a8d4c1d7a11';
const secret = '{"achAccountNumber":"000123456789"}';

describe('keyring', () => {
  const keyring = testKeyring();
  const dataKey = keyring.createDataKey();

  it('opens for the owner what was sealed for the owner, in any process with the master key', () => {
    const sealed = keyring.seal(dataKey, secret, owner);
    expect(keyring.open(sealed, owner)).toBe(secret);
    expect(testKeyring().open(sealed, owner)).toBe(secret);
    expect(testKeyring().open(testKeyring().seal(dataKey, 'ünï', owner), owner)).toBe('ünï');
  });

  it('shows nothing of the secret, and never the same text twice', () => {
    const [one, two] = [keyring.seal(dataKey, secret, owner), keyring.seal(dataKey, secret, owner)];
    expect(one).not.toBe(two);
    expect(one).toMatch(/^v1(\.[A-Za-z0-9_-]+){4}$/);
    expect(one).not.toContain('000123456789');
  });

  it('refuses a text that was moved to another record', () => {
    const sealed = keyring.seal(dataKey, secret, owner);
    expect(() => keyring.open(sealed, 'contact:another')).toThrow(CannotOpen);
  });

  it('refuses another master key', () => {
    const sealed = keyring.seal(dataKey, secret, owner);
    expect(() => testKeyring(8).open(sealed, owner)).toThrow(CannotOpen);
    expect(() => testKeyring(8).seal(dataKey, secret, owner)).toThrow(CannotOpen);
  });

  it('refuses a text altered in any place, cut short, or of no known version', () => {
    const sealed = keyring.seal(dataKey, secret, owner);
    for (let at = 0; at < sealed.length; at += 1) {
      // The last character of a base64url part may carry unused bits: flip the highest of the six.
      const other = sealed[at] === 'A' ? 'g' : 'A';
      const altered = sealed.slice(0, at) + other + sealed.slice(at + 1);
      if (altered !== sealed) expect(() => testKeyring().open(altered, owner)).toThrow(CannotOpen);
    }
    for (const hostile of ['', 'v1', 'v1....', 'v2.a.b.c.d', sealed.slice(0, -30), `${sealed}.x`])
      expect(() => keyring.open(hostile, owner)).toThrow(CannotOpen);
  });

  it('makes hashes that depend on the purpose, the text and the master key', () => {
    const hash = keyring.mac('cursor', 'text');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(testKeyring().mac('cursor', 'text')).toBe(hash);
    const others = [
      keyring.mac('contact-identity', 'text'),
      keyring.mac('cursor', 'texts'),
      testKeyring(8).mac('cursor', 'text'),
    ];
    expect(new Set([hash, ...others]).size).toBe(4);
  });

  it('refuses a master key of the wrong length', () => {
    expect(() => createKeyring({ masterKey: Buffer.alloc(16) })).toThrow('32 bytes');
  });
});
