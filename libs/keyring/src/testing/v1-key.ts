/** What releases before the table `data_keys` wrote: for tests that read old events. */
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A data key of those releases, wrapped. */
export interface V1Key {
  /** As events hold it: `<master key id>.<wrapped data key>`. */
  readonly dataKey: string;
  seal(owner: string, plaintext: string): string;
}

export function createV1Key(masterKey: Buffer): V1Key {
  const derive = (info: string, length: number) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `pis/v1/${info}`, length));
  const keyId = derive('master-key-id', 6).toString('base64url');
  const key = randomBytes(32);
  const [iv, text] = encrypt(derive('wrap', 32), key, keyId);
  const dataKey = `${keyId}.${Buffer.concat([iv, text]).toString('base64url')}`;
  return {
    dataKey,
    seal: (owner, plaintext) => {
      const parts = encrypt(key, Buffer.from(plaintext), `v1/${owner}`);
      return ['v1', dataKey, ...parts.map((part) => part.toString('base64url'))].join('.');
    },
  };
}

function encrypt(key: Buffer, plaintext: Buffer, additionalData: string): [Buffer, Buffer] {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(additionalData));
  const text = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return [iv, Buffer.concat([text, cipher.getAuthTag()])];
}
