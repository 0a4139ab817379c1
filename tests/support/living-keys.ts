/**
 * What the keys that are left open. Every sealed text is tried with every key, whatever owner and place it was
 * sealed for: a text that was sealed under the wrong key is found, too.
 */
import { createDecipheriv } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { messageDictionary } from '@pis/bank-rails/testing';
import { createKeyring, type Keyring, type MasterKeys, pgDataKeyTable } from '@pis/keyring';
import { keyringEnv, loadConfig, masterKeysFrom, processEnv } from '@pis/service-kit/stores';
import type pg from 'pg';
import type { Places } from './everywhere.js';
import { withClient } from './passing-rows.js';
import type { System } from './systems.js';

/** Version, IV of 12 bytes, ciphertext with its tag. */
const sealedForm = /\bv[23]\.\d{1,9}\.([\w-]{16})\.([\w-]+)/g;
/** An archived message: sealed bytes of compressed ones (libs/bank-rails/src/connections/sealed-parts.ts). */
const compressedForm = /\bc2\.([\w-]+)/g;
/** Of sealed bytes: the form, the version in four bytes, then the IV. */
const bytesForm = 1;
const headerBytes = 5;
const ivBytes = 12;
const tagBytes = 16;
const blockBytes = 16;
/** A text that was sealed may hold texts that were sealed before. */
const depthMax = 3;
/** Once it is decompressed. */
const messageMaxBytes = 1024 * 1024;

/** Every data key of the table that was not destroyed. */
export function livingKeys({
  databaseUrl,
  environment,
}: Pick<System, 'databaseUrl' | 'environment'>): Promise<readonly Buffer[]> {
  const masterKeys = masterKeysOf(environment);
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{
      owner: string;
      version: number;
      wrapped: string;
      wrapping_key_id: string;
    }>('SELECT owner, version, wrapped, wrapping_key_id FROM data_keys WHERE wrapped IS NOT NULL');
    return rows.map(({ owner, version, wrapped, wrapping_key_id: wrappingKeyId }) =>
      masterKeys.unwrap({ wrapped, wrappingKeyId }, `data-key/${version}/${owner}`),
    );
  });
}

/** As a process of the system has it. */
export function keyringOf({ environment }: Pick<System, 'environment'>, pool: pg.Pool): Keyring {
  return createKeyring({ masterKeys: masterKeysOf(environment), table: pgDataKeyTable(pool) });
}

function masterKeysOf(environment: Readonly<Record<string, string>>): MasterKeys {
  return masterKeysFrom(loadConfig({ ...processEnv, ...keyringEnv }, environment));
}

/** The sealed texts of each place, opened. A place without any is left out. */
export function openedPlaces(places: Places, keys: readonly Buffer[]): Places {
  const opened: Places = new Map();
  for (const [place, text] of places) {
    const texts: string[] = [];
    texts.push(...openedMessagesIn(text, keys));
    let sealed = [text];
    for (let depth = 0; depth < depthMax && sealed.length > 0; depth += 1) {
      sealed = sealed.flatMap((one) => openedIn(one, keys));
      texts.push(...sealed);
    }
    if (texts.length > 0) opened.set(`${place}, opened`, texts.join('\n'));
  }
  return opened;
}

function openedIn(text: string, keys: readonly Buffer[]): string[] {
  return [...text.matchAll(sealedForm)].flatMap(([, iv = '', sealed = '']) => {
    const counter = Buffer.concat([Buffer.from(iv, 'base64url'), firstCounter]);
    const bytes = Buffer.from(sealed, 'base64url');
    const ciphertext = bytes.subarray(0, Math.max(0, bytes.length - tagBytes));
    return keys.flatMap((key) => {
      const decipher = createDecipheriv('aes-256-ctr', key, counter);
      const start = decipher.update(ciphertext.subarray(0, blockBytes));
      // Any other key gives bytes of chance.
      if (!start.every(isText)) return [];
      return [
        Buffer.concat([start, decipher.update(ciphertext.subarray(blockBytes))]).toString('utf8'),
      ];
    });
  });
}

function openedMessagesIn(text: string, keys: readonly Buffer[]): string[] {
  return [...text.matchAll(compressedForm)].flatMap(([, sealed = '']) =>
    openedBytes(Buffer.from(sealed, 'base64url'), keys).flatMap((bytes) =>
      // With a second owner, sealed bytes are inside.
      [bytes, ...openedBytes(bytes, keys)].flatMap((one) => inflated(one) ?? []),
    ),
  );
}

/** What each key makes of sealed bytes. Only one of them is right. */
function openedBytes(sealed: Buffer, keys: readonly Buffer[]): Buffer[] {
  const textAt = headerBytes + ivBytes;
  if (sealed.length < textAt + tagBytes || sealed[0] !== bytesForm) return [];
  const counter = Buffer.concat([sealed.subarray(headerBytes, textAt), firstCounter]);
  const ciphertext = sealed.subarray(textAt, -tagBytes);
  return keys.map((key) => createDecipheriv('aes-256-ctr', key, counter).update(ciphertext));
}

/** Null for the bytes that a wrong key gives. */
function inflated(bytes: Buffer): string | null {
  try {
    return inflateRawSync(bytes, {
      dictionary: messageDictionary,
      maxOutputLength: messageMaxBytes,
    }).toString('utf8');
  } catch {
    return null;
  }
}

/** NIST SP 800-38D, 7.1: GCM encrypts in counter mode, and begins with 2. */
const firstCounter = Buffer.from([0, 0, 0, 2]);

/** Printable ASCII or a line end. Everything that we seal begins so. */
function isText(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d || (byte >= 0x20 && byte < 0x7f);
}
