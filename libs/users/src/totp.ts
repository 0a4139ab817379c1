/**
 * One-time codes (RFC 6238): six digits, SHA-1, steps of 30 seconds, as every authenticator app makes them.
 * A code counts one step to either side, because clocks differ (RFC 6238, 5.2).
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const stepSeconds = 30;
const digits = 6;
const toleratedSteps = 1;
/** As long as the output of SHA-1 (RFC 4226, 4, R6). */
const secretBytes = 20;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const bitsPerCharacter = 5;

/** Base32, as users may type it. */
export function generateTotpSecret(): string {
  const bits = [...randomBytes(secretBytes)].map((byte) => byte.toString(2).padStart(8, '0'));
  const groups = bits.join('').match(new RegExp(`.{${bitsPerCharacter}}`, 'g')) ?? [];
  return groups.map((group) => alphabet[parseInt(group, 2)]).join('');
}

/** What an authenticator app reads from the QR code (Key URI Format). */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const parameters = new URLSearchParams({
    secret,
    issuer,
    algorithm: 'SHA1',
    digits: String(digits),
    period: String(stepSeconds),
  });
  return `otpauth://totp/${label}?${parameters.toString().replaceAll('+', '%20')}`;
}

export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', bytesIn(secret)).update(counter).digest();
  // Dynamic truncation (RFC 4226, 5.3).
  const offset = mac.readUInt8(mac.length - 1) & 0xf;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

export function totpStepAt(timeMs: number): number {
  return Math.floor(timeMs / 1_000 / stepSeconds);
}

/** The step whose code this is; null for a wrong code. */
export function totpStepOf(secret: string, code: string, timeMs: number): number | null {
  const given = Buffer.from(code.replaceAll(/\s/g, ''));
  const now = totpStepAt(timeMs);
  let found: number | null = null;
  for (let step = now - toleratedSteps; step <= now + toleratedSteps; step += 1) {
    const right = Buffer.from(totpCode(secret, step));
    if (given.length === right.length && timingSafeEqual(given, right)) found = step;
  }
  return found;
}

function bytesIn(secret: string): Buffer {
  const bits = [...secret].map((character) =>
    alphabet.indexOf(character).toString(2).padStart(bitsPerCharacter, '0'),
  );
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => parseInt(byte, 2)));
}
