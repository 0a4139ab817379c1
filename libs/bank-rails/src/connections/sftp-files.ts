/** A bank's mailbox of files over SFTP: a folder for our files, and one for the bank's. */
import { randomBytes } from 'node:crypto';
import type { FileEntry } from 'ssh2';
import { BankRefused, BankUnavailable } from '../bank-connection.js';
import {
  type FileTransport,
  inboundFileMaxBytes,
  isSafeFileName,
  isTemporaryName,
  outboundFileMaxBytes,
  type PutOptions,
  type RemoteFile,
  temporaryNameOf,
} from './file-transport.js';
import { Poller } from './poller.js';
import {
  SftpConnection,
  type SftpConnectionOptions,
  type SftpSession,
  sftpStatus,
  SftpStatusError,
} from './sftp-connection.js';
import {
  download,
  entriesMax,
  entriesOf,
  isRegular,
  quoted,
  removeFile,
  rename,
  statOf,
  upload,
} from './sftp-requests.js';

export interface SftpFilesOptions extends SftpConnectionOptions {
  /** Where our files go. */
  readonly outboundFolder: string;
  /** Where the bank's files for us are. */
  readonly inboundFolder: string;
  /** How often the inbox is looked at while somebody listens. */
  readonly pollMs: number;
  /**
   * For how long a file must have kept its size and time before it counts as settled. 0 for a bank that renames
   * its files when they are whole.
   */
  readonly inboundSettleMs: number;
  readonly fileMaxBytes?: number;
  /** Told once of each file of the bank that is never listed, because of its name. */
  readonly warn?: (message: string) => void;
}

/** Names that were warned of, kept in memory. */
const warnedMax = 1_000;
const uniqueBytes = 4;

/** @throws Error when the private key cannot be read */
export function sftpFiles(options: SftpFilesOptions): FileTransport {
  return new SftpFiles(options);
}

class SftpFiles implements FileTransport {
  private readonly connection: SftpConnection;
  private readonly poller: Poller;
  /** What the last look saw, and since when each file has been like that. */
  private seen: ReadonlyMap<string, Seen> = new Map();
  private readonly warned = new Set<string>();

  constructor(private readonly options: SftpFilesOptions) {
    this.connection = new SftpConnection(options);
    this.poller = new Poller(options.pollMs, async () => {
      const files = await this.list(entriesMax);
      return files
        .filter(({ isUnsettled }) => isUnsettled !== true)
        .map(({ name, sizeBytes, version }) => `${name}/${sizeBytes}/${version}`);
    });
  }

  put(name: string, bytes: Uint8Array, { isFirst = false }: PutOptions = {}): Promise<void> {
    const { outboundFolder, fileMaxBytes = outboundFileMaxBytes } = this.options;
    if (bytes.length > fileMaxBytes)
      return Promise.reject(
        new BankRefused(`${name} has ${bytes.length} bytes; the limit is ${fileMaxBytes}`),
      );
    return this.usingFile(name, async (session) => {
      const path = inFolder(outboundFolder, name);
      if (await holds(session, path, bytes)) return;
      if (!isFirst) await removeLeftovers(session, outboundFolder, name);
      const unique = randomBytes(uniqueBytes).toString('hex');
      const temporary = inFolder(outboundFolder, temporaryNameOf(name, unique));
      try {
        await upload(session, temporary, bytes);
        await rename(session, temporary, path);
      } catch (error) {
        // After the loss of the connection the next upload does it.
        await removeFile(session, temporary).catch(() => undefined);
        throw error;
      }
    });
  }

  list(max: number): Promise<readonly RemoteFile[]> {
    return this.using(async (session) => {
      const nowMs = performance.now();
      const seen = new Map<string, Seen>();
      const { inboundFolder } = this.options;
      const entries = await entriesOf(session, inboundFolder, (entry) => this.isForUs(entry));
      for (const { filename, attrs } of entries) {
        const before = this.seen.get(filename);
        const isSame = before?.sizeBytes === attrs.size && before.mtime === attrs.mtime;
        const sinceMs = isSame ? before.sinceMs : nowMs;
        seen.set(filename, { sizeBytes: attrs.size, mtime: attrs.mtime, sinceMs });
      }
      this.seen = seen;
      return [...seen]
        .map(([name, { sizeBytes, mtime, sinceMs }]) => ({
          ...{ name, sizeBytes, version: versionOf(mtime) },
          ...(nowMs - sinceMs < this.options.inboundSettleMs && { isUnsettled: true }),
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .slice(0, max);
    });
  }

  get(name: string): Promise<Uint8Array> {
    return this.usingFile(name, (session) => {
      const { inboundFolder, fileMaxBytes = inboundFileMaxBytes } = this.options;
      return download(session, inFolder(inboundFolder, name), fileMaxBytes);
    });
  }

  /** SFTP cannot do it in one step: a file that is written between the two is lost. */
  remove({ name, sizeBytes, version }: RemoteFile): Promise<boolean> {
    return this.usingFile(name, async (session) => {
      const path = inFolder(this.options.inboundFolder, name);
      const stats = await statOf(session, path);
      if (stats === null) return true;
      if (stats.size !== sizeBytes || versionOf(stats.mtime) !== version) return false;
      await removeFile(session, path);
      return true;
    });
  }

  onFile(listener: () => void): () => void {
    return this.poller.listen(listener);
  }

  close(): Promise<void> {
    this.poller.stop();
    this.connection.close();
    return Promise.resolve();
  }

  private usingFile<Result>(
    name: string,
    work: (session: SftpSession) => Promise<Result>,
  ): Promise<Result> {
    if (!isSafeFileName(name) || isTemporaryName(name))
      return Promise.reject(new BankRefused(`not the name of a file: ${quoted(name)}`));
    return this.using(work);
  }

  private async using<Result>(work: (session: SftpSession) => Promise<Result>): Promise<Result> {
    const session = await this.connection.open();
    try {
      return await work(session);
    } catch (error) {
      // Folders, rights and space are the bank's matter, and may be mended: nothing is given up.
      if (error instanceof SftpStatusError)
        throw new BankUnavailable(error.message, { cause: error });
      throw error;
    }
  }

  private isForUs(entry: FileEntry): boolean {
    const { filename } = entry;
    if (!isRegular(entry) || isTemporaryName(filename)) return false;
    if (isSafeFileName(filename)) return true;
    this.warnOf(filename);
    return false;
  }

  private warnOf(name: string): void {
    if (this.warned.has(name) || this.warned.size >= warnedMax) return;
    this.warned.add(name);
    this.options.warn?.(`a file of the bank has a name that is not safe: ${quoted(name)}`);
  }
}

interface Seen {
  readonly sizeBytes: number;
  readonly mtime: number;
  readonly sinceMs: number;
}

function versionOf(mtime: number): string {
  return String(mtime);
}

function inFolder(folder: string, name: string): string {
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`;
}

/**
 * Whether the bank has this file already. A bank may let us write and not read: then a file of the same name
 * and size counts as the same, because we give each name to one content only.
 */
async function holds(session: SftpSession, path: string, bytes: Uint8Array): Promise<boolean> {
  const stats = await statOf(session, path);
  if (stats === null) return false;
  const differs = new BankRefused(`the bank has another file at ${quoted(path)}`);
  if (!stats.isFile() || stats.size !== bytes.length) throw differs;
  try {
    if (!(await download(session, path, bytes.length)).equals(bytes)) throw differs;
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
  }
  return true;
}

/**
 * Parts of this file that an interrupted upload has left. An upload of the same file that is under way
 * elsewhere loses its part and fails: it is tried again, and then finds the file.
 */
async function removeLeftovers(session: SftpSession, folder: string, name: string): Promise<void> {
  const [start, end] = temporaryNameOf(name, '/').split('/');
  const entries = await entriesOf(session, folder).catch((error: unknown) => {
    if (isNotPermitted(error)) return [];
    throw error;
  });
  const leftovers = entries.filter(
    (entry) =>
      isRegular(entry) &&
      entry.filename.startsWith(start ?? '') &&
      entry.filename.endsWith(end ?? ''),
  );
  for (const { filename } of leftovers) {
    await removeFile(session, inFolder(folder, filename));
  }
}

function isNotPermitted(error: unknown): boolean {
  return error instanceof SftpStatusError && error.status === sftpStatus.permissionDenied;
}
