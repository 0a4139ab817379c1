/** A keyring with a master key that only tests know. */
import { createKeyring } from './keyring.js';
import type { Keyring } from './port.js';

export function testKeyring(fill = 7): Keyring {
  return createKeyring({ masterKey: Buffer.alloc(32, fill) });
}
