import { digestOf, isSameDigest, isToken, newToken } from './link-token.js';

it('a token is 32 random bytes in 43 URL-safe characters, and no two are alike', () => {
  const tokens = Array.from({ length: 10_000 }, newToken);
  expect(new Set(tokens).size).toBe(tokens.length);
  const bits = new Array<number>(256).fill(0);
  for (const token of tokens) {
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(isToken(token)).toBe(true);
    const bytes = Buffer.from(token, 'base64url');
    expect(bytes).toHaveLength(32);
    for (const [index] of bits.entries())
      bits[index] = (bits[index] ?? 0) + (((bytes[index >> 3] ?? 0) >> (index & 7)) & 1);
  }
  // Each bit is set in half of the tokens: eight standard deviations are 400 of 10,000.
  for (const set of bits) expect(Math.abs(set - tokens.length / 2)).toBeLessThan(400);
});

it('other texts are no token', () => {
  for (const text of [
    '',
    'A'.repeat(42),
    'A'.repeat(44),
    `${'A'.repeat(42)}+`,
    `${'A'.repeat(42)}\n`,
  ])
    expect(isToken(text)).toBe(false);
});

it('digests are compared whole', () => {
  expect(isSameDigest(digestOf('a'), digestOf('a'))).toBe(true);
  expect(isSameDigest(digestOf('a'), digestOf('b'))).toBe(false);
  expect(isSameDigest('', digestOf('a'))).toBe(false);
});
