/**
 * The port to a bank's mailbox of files. What always holds, in every adapter (conformance suite:
 * `fileTransportConformance` in `@pis/bank-rails/testing`):
 * - the bank sees a file whole or not at all;
 * - we see a file of the bank whole or not at all;
 * - each call may be repeated.
 */

export interface RemoteFile {
  readonly name: string;
  readonly sizeBytes: number;
  /** Another one when the file was written again, as far as the bank tells. */
  readonly version: string;
  /** The bank may still be writing it: it is not to be read yet. */
  readonly isUnsettled?: boolean;
}

export interface PutOptions {
  /** Nobody has tried to upload a file of this name before: parts of it are not looked for. */
  readonly isFirst?: boolean;
}

/** Every method @throws BankUnavailable (ask again), BankRefused (give up: nothing was done) */
export interface FileTransport {
  /**
   * Uploads under a temporary name, then renames. The same name with the same bytes is a no-op.
   * @throws BankRefused when the bank has a file of this name with other bytes, the name is not a safe
   * one (isSafeFileName), or the file is larger than outboundFileMaxBytes
   */
  put(name: string, bytes: Uint8Array, options?: PutOptions): Promise<void>;
  /** The bank's files for us, ordered by name, at most `max`; never one under the name of a part. */
  list(max: number): Promise<readonly RemoteFile[]>;
  /** @throws BankRefused when it is larger than inboundFileMaxBytes */
  get(name: string): Promise<Uint8Array>;
  /**
   * Takes it out of the inbox after it was recorded. Safe to repeat.
   * @returns false when the bank has written it again since it was listed: the newer file stays
   */
  remove(file: RemoteFile): Promise<boolean>;
  /** Calls back when there may be a new file: a hint that may be missing or wrong. Returns a function that ends it. */
  onFile(listener: () => void): () => void;
  close(): Promise<void>;
}

/** 100,000 NACHA entries with addenda take 19 MB. */
export const inboundFileMaxBytes = 64 * 1024 * 1024;
export const outboundFileMaxBytes = inboundFileMaxBytes;

const nameMax = 200;
const safeName = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Whether a name can only mean a file of its folder: printable ASCII without separators, no space at either
 * end, no leading dot.
 */
export function isSafeFileName(name: string): boolean {
  return (
    name.length <= nameMax && safeName.test(name) && !/[/\\]/.test(name) && !name.startsWith('.')
  );
}

const temporaryName =
  /^\.[^/\\]*$|(?:\.(?:part|partial|tmp|temp|filepart|writing|uploading|crdownload)|~)$/i;

/** Whether a name is one under which files are written by convention, ours (temporaryNameOf) included. */
export function isTemporaryName(name: string): boolean {
  return temporaryName.test(name);
}

/**
 * Banks ignore hidden files, or files with such an ending: this is both. `unique` keeps two uploads of one
 * name from writing into the same file.
 */
export function temporaryNameOf(name: string, unique: string): string {
  return `.${name}.${unique}.part`;
}
