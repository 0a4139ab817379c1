/**
 * Pinned host keys of SSH servers. A server whose key is not pinned is not talked to: a first connection is
 * trusted no more than any other.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

const fingerprintForm = /^SHA256:([A-Za-z0-9+/]{43})=?$/;
/** As in a `.pub` file or in `known_hosts` without its host names. */
const publicKeyForm = /^((?:ssh|ecdsa)-[a-z0-9-]+) ([A-Za-z0-9+/]+={0,2})(?: .*)?$/;

/** Signature algorithms by type of key. RSA only with SHA-2. */
const algorithmsOf = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type HostKeyAlgorithm = (typeof algorithmsOf)[keyof typeof algorithmsOf][number];

export interface PinnedHostKeys {
  /** What the server may identify itself with. */
  readonly algorithms: readonly HostKeyAlgorithm[];
  has(presented: Uint8Array): boolean;
}

/** What is wrong with a pin; null when nothing is. */
export function hostKeyProblem(pin: string): string | null {
  return parsePin(pin) === null
    ? 'is neither SHA256:… (ssh-keygen -l) nor a public key such as "ssh-ed25519 AAAA…"'
    : null;
}

/** @param pins at least one that hostKeyProblem accepts */
export function pinnedHostKeys(pins: readonly string[]): PinnedHostKeys {
  const parsed = pins.map((pin) => {
    const known = parsePin(pin);
    if (known === null) throw new Error(`a host key ${String(hostKeyProblem(pin))}`);
    return known;
  });
  if (parsed.length === 0) throw new Error('no host key is pinned');
  const types = parsed.map(({ type }) => type);
  // The server chooses among these. With only public keys known, no other type could match.
  const allowed = types.includes(null) ? Object.keys(algorithmsOf) : types;
  const algorithms = Object.entries(algorithmsOf)
    .filter(([type]) => allowed.includes(type))
    .flatMap(([, names]) => [...names]);
  return {
    algorithms,
    has: (presented) => {
      const digest = createHash('sha256').update(presented).digest();
      return parsed.some((pin) => timingSafeEqual(pin.digest, digest));
    },
  };
}

/** As ssh-keygen shows it. */
export function fingerprintOf(key: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

interface Pin {
  readonly digest: Buffer;
  /** Null when only the fingerprint is known. */
  readonly type: string | null;
}

function parsePin(pin: string): Pin | null {
  const [, fingerprint] = fingerprintForm.exec(pin) ?? [];
  if (fingerprint !== undefined) return { digest: Buffer.from(fingerprint, 'base64'), type: null };
  const [, type, key] = publicKeyForm.exec(pin) ?? [];
  if (type === undefined || key === undefined || !(type in algorithmsOf)) return null;
  const bytes = Buffer.from(key, 'base64');
  // The key repeats its type after a length of four bytes.
  if (bytes.subarray(4, 4 + type.length).toString('latin1') !== type) return null;
  return { digest: createHash('sha256').update(bytes).digest(), type };
}
