/**
 * Checkpoints as other people's tools read them: the text of C2SP tlog-checkpoint with a signature of C2SP
 * signed-note (Ed25519). Key names have no spaces and no plus.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';

export interface NoteSigner {
  /** Also the origin of the checkpoints. */
  readonly name: string;
  /** `name+hash+base64`. */
  readonly verifierKey: string;
  /** Signs a text that ends with a line end. @returns the note */
  sign(text: string): string;
}

/** Of signed-note: Ed25519. */
const algorithm = Buffer.of(1);
/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * @param seed the Ed25519 private key, 32 bytes
 * @throws RangeError for another length
 */
export function noteSigner(seed: Buffer): NoteSigner {
  if (seed.length !== 32) throw new RangeError(`the key has ${seed.length} bytes instead of 32`);
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const keyed = Buffer.concat([algorithm, Buffer.from(x, 'base64url')]);
  // The origin must tell logs apart, so that it depends on the key.
  const name = `pis-audit-${sha256(keyed).toString('hex').slice(0, 8)}`;
  const keyHash = keyHashOf(name, keyed);
  return {
    name,
    verifierKey: `${name}+${keyHash.toString('hex')}+${keyed.toString('base64')}`,
    sign(text) {
      const signature = Buffer.concat([keyHash, sign(null, Buffer.from(text), privateKey)]);
      return `${text}\n— ${name} ${signature.toString('base64')}\n`;
    },
  };
}

/** The text of a checkpoint: origin, size, root. */
export function checkpointText(origin: string, treeSize: number, root: Buffer): string {
  return `${origin}\n${treeSize}\n${root.toString('base64')}\n`;
}

/** What a note must say. */
export interface SignedTree {
  readonly treeSize: number;
  /** Base64. */
  readonly rootHash: string;
  readonly verifierKey: string;
}

/** Why a note is not the signature of a tree by the key; null when it is. */
export function problemOfNote(note: string, tree: SignedTree): string | null {
  const { treeSize, rootHash, verifierKey } = tree;
  const [name = '', hash = '', ...rest] = verifierKey.split('+');
  const keyed = Buffer.from(rest.join('+'), 'base64');
  const keyHash = keyHashOf(name, keyed);
  if (keyed.length !== 33 || keyed[0] !== algorithm[0] || keyHash.toString('hex') !== hash)
    return 'its verifier key is malformed';
  const text = checkpointText(name, treeSize, Buffer.from(rootHash, 'base64'));
  const [, by, base64 = ''] = /^\n— (\S+) (\S+)\n$/.exec(note.slice(text.length)) ?? [];
  if (!note.startsWith(text) || by !== name) return 'its note is of another checkpoint';
  const bytes = Buffer.from(base64, 'base64');
  const x = keyed.subarray(1).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const isSigned =
    bytes.subarray(0, 4).equals(keyHash) && verify(null, Buffer.from(text), key, bytes.subarray(4));
  return isSigned ? null : 'its note is not signed by its key';
}

function keyHashOf(name: string, keyed: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.from(`${name}\n`), keyed])).subarray(0, 4);
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
