import { generateTotpSecret, totpCode, totpStepAt, totpStepOf, totpUri } from './totp.js';

/** `12345678901234567890` in base32: the secret of RFC 6238, appendix B. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

it.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('makes the codes of RFC 6238 at second %i', (seconds, code) => {
  expect(totpCode(secret, totpStepAt(seconds * 1_000))).toBe(code);
});

it('accepts a code one step early and late, and no further', () => {
  const nowMs = 1_111_111_111_000;
  const now = totpStepAt(nowMs);
  const found = [-2, -1, 0, 1, 2].map((offset) =>
    totpStepOf(secret, totpCode(secret, now + offset), nowMs),
  );
  expect(found).toEqual([null, now - 1, now, now + 1, null]);
});

it.each(['', '000000', '28708', '2870822', 'abcdef', '28708２'])('refuses %p', (code) => {
  expect(totpStepOf(secret, code, 59_000)).toBeNull();
});

it('ignores the space that apps show in a code', () => {
  expect(totpStepOf(secret, '287 082', 59_000)).toBe(1);
});

it('makes a secret of 160 bits that codes can be made of', () => {
  const made = generateTotpSecret();
  expect(made).toMatch(/^[A-Z2-7]{32}$/);
  expect(made).not.toBe(generateTotpSecret());
  expect(totpStepOf(made, totpCode(made, 1), 59_000)).toBe(1);
});

it('writes the address that apps read from a QR code', () => {
  expect(totpUri(secret, 'Demo Pay', 'ada@example.com')).toBe(
    `otpauth://totp/Demo%20Pay:ada%40example.com?secret=${secret}&issuer=Demo%20Pay&algorithm=SHA1&digits=6&period=30`,
  );
});
