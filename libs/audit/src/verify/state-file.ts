/**
 * Where a stopped audit left off, in a file. It is written in parts and read in parts, because the audit of a large log
 * remembers more than fits into one string.
 *
 * What always holds: the file is whole. It is written beside its name, synced, and then renamed; its last 32 bytes are the
 * SHA-256 of all others. The digest finds damage, and is no proof: whoever may write the file can forge it.
 */
import { constants, createReadStream } from 'node:fs';
import { access, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import path from 'node:path';

/** Why a state cannot be used. */
export class AuditStateUnusable extends Error {
  override readonly name = 'AuditStateUnusable';
}

/** Reads the parts in the order in which they were written. */
export interface StateReader {
  fill(into: Uint8Array): Promise<void>;
  /** The records of one call of `framesOf`. */
  records(): AsyncGenerator<unknown, void, undefined>;
}

/** Also of the meaning of its parts: a release that gives them another one raises it. */
const magic = 'pis audit state 2\n';
const ownerOnly = 0o600;
const digestBytes = 32;
const lengthBytes = 4;
const recordsOfFrameMax = 1_000;
const writeMaxBytes = 1_048_576;

/** JSON records in frames with their length before them, closed by an empty frame. */
export function* framesOf(records: Iterable<unknown>): Generator<Uint8Array, void, undefined> {
  let batch: unknown[] = [];
  for (const record of records) {
    batch.push(record);
    if (batch.length < recordsOfFrameMax) continue;
    yield* frameOf(batch);
    batch = [];
  }
  if (batch.length > 0) yield* frameOf(batch);
  yield lengthOf(0);
}

function* frameOf(records: readonly unknown[]): Generator<Uint8Array, void, undefined> {
  const json = Buffer.from(JSON.stringify(records));
  yield lengthOf(json.length);
  yield json;
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(bytes);
  return length;
}

export class AuditStateFile {
  constructor(readonly file: string) {}

  /** @throws AuditStateUnusable when the file cannot be written */
  async save(parts: Iterable<Uint8Array>): Promise<void> {
    const partial = `${this.file}.part`;
    try {
      await rm(partial, { force: true });
      const handle = await open(partial, 'wx', ownerOnly);
      try {
        await writeAll(handle, parts);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(partial, this.file);
      await syncFolder(path.dirname(this.file));
    } catch (error) {
      throw unusable(this.file, 'it cannot be written', error);
    }
  }

  /**
   * Whether there was a state: then `use` has read it.
   *
   * @throws AuditStateUnusable when it is damaged, or when no state could be written there later
   */
  async load(use: (reader: StateReader) => Promise<void>): Promise<boolean> {
    const handle = await this.#opened();
    if (handle === null) return false;
    try {
      await this.#check(handle);
      await use(new FileReader(handle, magic.length));
      return true;
    } finally {
      await handle.close();
    }
  }

  async remove(): Promise<void> {
    await rm(this.file, { force: true });
  }

  async #opened(): Promise<FileHandle | null> {
    try {
      await access(path.dirname(this.file), constants.W_OK);
      return await open(this.file, 'r');
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (isMissing && (await isThere(path.dirname(this.file)))) return null;
      throw unusable(this.file, 'it cannot be opened', error);
    }
  }

  async #check(handle: FileHandle): Promise<void> {
    const damaged = new AuditStateUnusable(`${this.file}: it is damaged, or no state of an audit`);
    const { size } = await handle.stat();
    const end = size - digestBytes;
    if (end <= magic.length) throw damaged;
    const reader = new FileReader(handle, 0);
    const start = Buffer.alloc(magic.length);
    await reader.fill(start);
    const digest = Buffer.alloc(digestBytes);
    await new FileReader(handle, end).fill(digest);
    const hash = createHash('sha256');
    const bytes = createReadStream('', { fd: handle, start: 0, end: end - 1, autoClose: false });
    for await (const chunk of bytes) hash.update(chunk as Buffer);
    if (!hash.digest().equals(digest)) throw damaged;
    if (start.toString('latin1') !== magic)
      throw new AuditStateUnusable(`${this.file}: it was written by another release`);
  }
}

class FileReader implements StateReader {
  constructor(
    private readonly handle: FileHandle,
    private at: number,
  ) {}

  async fill(into: Uint8Array): Promise<void> {
    for (let filled = 0; filled < into.length; ) {
      const { bytesRead } = await this.handle.read(into, filled, into.length - filled, this.at);
      if (bytesRead === 0) throw new AuditStateUnusable('the state of the audit ends early');
      filled += bytesRead;
      this.at += bytesRead;
    }
  }

  async *records(): AsyncGenerator<unknown, void, undefined> {
    for (const length = Buffer.alloc(lengthBytes); ; ) {
      await this.fill(length);
      const json = Buffer.alloc(length.readUInt32LE());
      if (json.length === 0) return;
      await this.fill(json);
      yield* JSON.parse(json.toString()) as unknown[];
    }
  }
}

async function writeAll(handle: FileHandle, parts: Iterable<Uint8Array>): Promise<void> {
  const hash = createHash('sha256');
  const write = async (bytes: Uint8Array) => {
    hash.update(bytes);
    await handle.writeFile(bytes);
  };
  await write(Buffer.from(magic));
  for (const part of parts)
    for (let at = 0; at < part.length; at += writeMaxBytes)
      await write(part.subarray(at, at + writeMaxBytes));
  await handle.writeFile(hash.digest());
}

/** So that the new name survives a loss of power. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function isThere(folder: string): Promise<boolean> {
  try {
    await access(folder);
    return true;
  } catch {
    return false;
  }
}

function unusable(file: string, what: string, cause: unknown): AuditStateUnusable {
  return new AuditStateUnusable(`${file}: ${what}`, { cause });
}
