/**
 * How the bytes of an archived part are sealed, and opened again.
 *
 *   text          the sealed text of the bytes, in Latin-1
 *   compressed    c2.<sealed bytes in base64url>: the bytes are compressed with raw DEFLATE and the dictionary of
 *                 message-dictionary.ts, then sealed. `c1.` is the same without a dictionary; nothing writes it any more
 *
 * An XML message takes a quarter of the space. Whoever has the database, and no key, sees the length after compression.
 * A part with a second owner is sealed for its owner first, and the result for the second one.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { CannotOpen, KeyDestroyed, type Keyring, type Owner } from '@pis/keyring';
import { blank, type SealedPart } from './archive-table.js';
import { messageDictionary } from './message-dictionary.js';

export type PartKeyring = Pick<Keyring, 'seal' | 'openAll' | 'sealBytes' | 'openBytes'>;

type Owners = Pick<SealedPart, 'owner' | 'secondOwner'>;

export interface PartToSeal extends Owners {
  readonly bytes: Uint8Array;
  /** What the part is sealed for: it opens nowhere else. */
  readonly place: string;
  readonly isCompressed: boolean;
}

export interface PartToOpen extends Owners {
  readonly sealed: string;
  readonly sizeBytes: number;
  readonly place: string;
}

/** What a compressed text begins with, and its dictionary. The first is the one that is written. */
const compressedForms = [
  { form: 'c2.', dictionary: messageDictionary },
  { form: 'c1.', dictionary: Buffer.alloc(0) },
] as const;
const [written] = compressedForms;

/** Files of the bank may speak of a party that was erased since. Nothing of it is kept: the result is `blank`. */
export async function sealPart(keyring: PartKeyring, part: PartToSeal): Promise<string> {
  try {
    return await (part.isCompressed ? sealCompressed(keyring, part) : sealText(keyring, part));
  } catch (error) {
    if (error instanceof KeyDestroyed) return blank;
    throw error;
  }
}

/**
 * In order; null where an owner was erased.
 * @throws CannotOpen when a part was altered
 */
export async function openParts(
  keyring: PartKeyring,
  parts: readonly PartToOpen[],
): Promise<readonly (Buffer | null)[]> {
  const opened = new Map<PartToOpen, Buffer | null>();
  const texts = parts.filter(({ sealed }) => sealed !== blank && compressionOf(sealed) === null);
  for (const [index, text] of (await openTexts(keyring, texts)).entries()) {
    const part = texts[index];
    if (part !== undefined) opened.set(part, text === null ? null : Buffer.from(text, 'latin1'));
  }
  for (const part of parts) {
    const compression = compressionOf(part.sealed);
    if (compression !== null) opened.set(part, await openCompressed(keyring, part, compression));
  }
  return parts.map((part) => opened.get(part) ?? null);
}

type Compression = (typeof compressedForms)[number];

/** Null for a text that is not compressed. */
function compressionOf(sealed: string): Compression | null {
  return compressedForms.find(({ form }) => sealed.startsWith(form)) ?? null;
}

async function sealText(
  keyring: PartKeyring,
  { owner, secondOwner, bytes, place }: PartToSeal,
): Promise<string> {
  // Latin-1 holds any byte, and costs nothing for ASCII.
  const sealed = await keyring.seal(owner, Buffer.from(bytes).toString('latin1'), place);
  return secondOwner === null ? sealed : keyring.seal(secondOwner, sealed, secondPlaceOf(place));
}

async function sealCompressed(
  keyring: PartKeyring,
  { owner, secondOwner, bytes, place }: PartToSeal,
): Promise<string> {
  const { form, dictionary } = written;
  const compressed = deflateRawSync(bytes, { dictionary, chunkSize: chunkSizeOf(bytes.length) });
  const first = await keyring.sealBytes(owner, compressed, place);
  const sealed =
    secondOwner === null
      ? first
      : await keyring.sealBytes(secondOwner, first, secondPlaceOf(place));
  return form + sealed.toString('base64url');
}

/** The second seal is around the first one. */
async function openTexts(
  keyring: PartKeyring,
  parts: readonly PartToOpen[],
): Promise<readonly (string | null)[]> {
  const sealed: (string | null)[] = parts.map((part) => part.sealed);
  const openWhere = async (
    ownerIn: (part: PartToOpen) => Owner | null,
    placeIn: (place: string) => string,
  ): Promise<void> => {
    const found = parts.flatMap((part, index) => {
      const [owner, text] = [ownerIn(part), sealed[index] ?? null];
      if (owner === null || text === null) return [];
      return [{ index, owner, sealed: text, place: placeIn(part.place) }];
    });
    const texts = await keyring.openAll(found);
    for (const [at, { index }] of found.entries()) sealed[index] = texts[at] ?? null;
  };
  await openWhere(({ secondOwner }) => secondOwner, secondPlaceOf);
  await openWhere(
    ({ owner }) => owner,
    (place) => place,
  );
  return sealed;
}

async function openCompressed(
  keyring: PartKeyring,
  { sealed, owner, secondOwner, place, sizeBytes }: PartToOpen,
  { form, dictionary }: Compression,
): Promise<Buffer | null> {
  try {
    const outer = Buffer.from(sealed.slice(form.length), 'base64url');
    const inner =
      secondOwner === null
        ? outer
        : await keyring.openBytes(outer, secondOwner, secondPlaceOf(place));
    const compressed = await keyring.openBytes(inner, owner, place);
    return inflated(compressed, { dictionary, sizeBytes });
  } catch (error) {
    if (error instanceof KeyDestroyed) return null;
    throw error;
  }
}

const chunkBytes = { min: 64, max: 16 * 1024 } as const;

/** Of zlib's output, which it allocates before it begins: for a message, its default would cost half of the compression. */
function chunkSizeOf(sizeBytes: number): number {
  return Math.min(Math.max(sizeBytes, chunkBytes.min), chunkBytes.max);
}

/** @throws CannotOpen when they are not the bytes of a part of this size */
function inflated(
  compressed: Buffer,
  { dictionary, sizeBytes }: { readonly dictionary: Buffer; readonly sizeBytes: number },
): Buffer {
  try {
    return inflateRawSync(compressed, {
      dictionary,
      maxOutputLength: Math.max(1, sizeBytes),
      chunkSize: chunkSizeOf(sizeBytes),
    });
  } catch (cause) {
    throw new CannotOpen('the part does not decompress to its size', { cause });
  }
}

function secondPlaceOf(place: string): string {
  return `${place}/second`;
}
