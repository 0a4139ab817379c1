/** Whole files over an open SFTP connection, in bounded requests. */
import type { FileEntry, Stats } from 'ssh2';
import { BankRefused, BankUnavailable } from '../bank-connection.js';
import { type SftpSession, sftpStatus, SftpStatusError } from './sftp-connection.js';

/** What every SFTP server takes in one request. */
const chunkBytes = 32 * 1024;
/** Requests under way for one file: without several, each would wait for the network. */
const chunksAtOnce = 16;
/** Of a folder, in one look. */
export const entriesMax = 10_000;
/** Answers of one look. Some servers name a single file in each. */
const pagesMax = 100_000;
const quotedMax = 80;

/** For messages: control characters are escaped. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, quotedMax));
}

/** Creates a file that was not there, with these bytes, and makes sure that they arrived. */
export async function upload(session: SftpSession, path: string, bytes: Uint8Array): Promise<void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // Fails when there is such a file.
  const handle = await session.call<Buffer>('an upload', (sftp, done) =>
    sftp.open(path, 'wx', done),
  );
  try {
    await inChunks(buffer.length, (offset, length) =>
      session.call('an upload', (sftp, done) =>
        sftp.write(handle, buffer, offset, length, offset, done),
      ),
    );
    await syncIfOffered(session, handle);
    const { size } = await session.call<Stats>('an upload', (sftp, done) =>
      sftp.fstat(handle, done),
    );
    if (size !== buffer.length)
      throw new BankUnavailable(`${size} of ${buffer.length} bytes arrived at the bank`);
  } finally {
    await closing(session, handle);
  }
}

/** The bytes of a file that does not change meanwhile. @throws BankRefused when it is larger than maxBytes */
export async function download(
  session: SftpSession,
  path: string,
  maxBytes: number,
): Promise<Buffer> {
  const handle = await session.call<Buffer>('a download', (sftp, done) =>
    sftp.open(path, 'r', done),
  );
  const stats = () => session.call<Stats>('a download', (sftp, done) => sftp.fstat(handle, done));
  try {
    const { size, mtime } = await stats();
    if (size > maxBytes)
      throw new BankRefused(`${quoted(path)} has ${size} bytes; the limit is ${maxBytes}`);
    const bytes = Buffer.alloc(size);
    await inChunks(size, async (offset, length) => {
      for (let at = offset; at < offset + length; ) {
        const wanted = offset + length - at;
        const start = at;
        const read = await session.call<number>('a download', (sftp, done) =>
          sftp.read(handle, bytes, start, wanted, start, done),
        );
        if (read <= 0) throw new BankUnavailable(`${quoted(path)} became shorter`);
        at += read;
      }
    });
    const after = await stats();
    if (after.size !== size || after.mtime !== mtime)
      throw new BankUnavailable(`${quoted(path)} changed while it was read`);
    return bytes;
  } finally {
    await closing(session, handle);
  }
}

/** Calls `work` for each chunk, several at once. Waits for all of them, also after a failure. */
async function inChunks(
  totalBytes: number,
  work: (offset: number, length: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < totalBytes && !failed) {
      const offset = next;
      next += chunkBytes;
      await work(offset, Math.min(chunkBytes, totalBytes - offset));
    }
  };
  const ends = await Promise.allSettled(
    Array.from({ length: chunksAtOnce }, () =>
      lane().catch((error: unknown) => {
        failed = true;
        throw error;
      }),
    ),
  );
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** A failure here adds nothing to what is known, and must not hide another one. */
async function closing(session: SftpSession, handle: Buffer): Promise<void> {
  await session
    .call('the end of a file', (sftp, done) => sftp.close(handle, done))
    .catch(() => undefined);
}

async function syncIfOffered(session: SftpSession, handle: Buffer): Promise<void> {
  await session.call('an upload', (sftp, done) => {
    ifOffered(
      () => sftp.ext_openssh_fsync(handle, done),
      () => done(null),
    );
  });
}

/** Atomic where the server offers it. Otherwise the server refuses a name that is taken. */
export async function rename(session: SftpSession, from: string, to: string): Promise<void> {
  await session.call('an upload', (sftp, done) => {
    ifOffered(
      () => sftp.ext_openssh_rename(from, to, done),
      () => sftp.rename(from, to, done),
    );
  });
}

/** The library throws at once when the server does not name the extension. */
function ifOffered(extended: () => void, otherwise: () => void): void {
  try {
    extended();
  } catch (error) {
    if (!/does not support this extended request/.test((error as Error).message)) throw error;
    otherwise();
  }
}

/**
 * What is wanted of a folder, at most entriesMax. Fewer are all that there are: names that are not wanted, such as
 * folders, do not count.
 */
export async function entriesOf(
  session: SftpSession,
  folder: string,
  isWanted: (entry: FileEntry) => boolean = () => true,
): Promise<readonly FileEntry[]> {
  const handle = await session.call<Buffer>('a look at a folder', (sftp, done) =>
    sftp.opendir(folder, done),
  );
  const entries: FileEntry[] = [];
  try {
    for (let pages = 0; entries.length < entriesMax; pages += 1) {
      if (pages === pagesMax) throw new BankUnavailable(`${quoted(folder)} has no end`);
      const page = await nextPage(session, handle);
      if (page === null) return entries;
      entries.push(...page.filter(isWanted));
    }
    return entries.slice(0, entriesMax);
  } finally {
    await closing(session, handle);
  }
}

const endOfFolder = 1;

/** Null at the end. A page may be empty before that: the library leaves out `.` and `..`. */
async function nextPage(
  session: SftpSession,
  handle: Buffer,
): Promise<readonly FileEntry[] | null> {
  try {
    return await session.call<FileEntry[]>('a look at a folder', (sftp, done) =>
      sftp.readdir(handle, done),
    );
  } catch (error) {
    if (error instanceof SftpStatusError && error.status === endOfFolder) return null;
    throw error;
  }
}

const fileTypeBits = 0o170_000;
const regularFile = 0o100_000;

/** Neither a folder nor a link. */
export function isRegular({ attrs }: FileEntry): boolean {
  return (attrs.mode & fileTypeBits) === regularFile;
}

/** Safe to repeat. */
export async function removeFile(session: SftpSession, path: string): Promise<void> {
  await orIfMissing(
    session.call('a deletion', (sftp, done) => sftp.unlink(path, done)),
    undefined,
  );
}

/** Null when there is none. */
export function statOf(session: SftpSession, path: string): Promise<Stats | null> {
  return orIfMissing<Stats | null>(
    session.call<Stats>('a look at a file', (sftp, done) => sftp.stat(path, done)),
    null,
  );
}

async function orIfMissing<Value>(call: Promise<Value>, whenMissing: Value): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof SftpStatusError && error.status === sftpStatus.noSuchFile)
      return whenMissing;
    throw error;
  }
}
