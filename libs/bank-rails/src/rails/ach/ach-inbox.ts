/**
 * The rounds over the bank's inbox. Each file is read whole, recorded, and taken out. A file that cannot be read or
 * removed holds up no other: it is left alone for a while, then tried again. Whatever happens, a file is removed only
 * after these bytes of it were recorded.
 *
 * The database may fail over to a replica that lacks the last records, and the bank would not have the file any more. So a
 * file stays for a while after it was recorded. Then it is read again, and removed if the database still has its record.
 */
import { isTransient } from '@pis/postgres';
import { BankRefused, BankUnavailable } from '../../bank-connection.js';
import type { FileTransport, RemoteFile } from '../../connections/file-transport.js';
import { sha256Of } from './ach-file-builder.js';
import { type AchInbound, contentOf } from './ach-inbound.js';
import type { AchStayingFiles, StayingState } from './ach-staying-files.js';
import type { AchLog } from './ach-tables.js';

export interface AchInboxOptions {
  readonly transport: FileTransport;
  readonly inbound: Pick<AchInbound, 'record'>;
  readonly staying: AchStayingFiles;
  readonly log: AchLog;
  /** A file that cannot be read may still be written: it is read again for so long. */
  readonly unreadableGraceMs: number;
  /** A file is removed so long after it was recorded. */
  readonly removeAfterMs: number;
  /** Milliseconds that only grow. */
  readonly clock: () => number;
}

/** Names of one look. A transport lists no more. */
const inboxListMax = 10_000;
/** Files of one round. More wait for the next one. */
const filesPerRoundMax = 200;
/** After so many it is asked whether the bank is there at all: otherwise each file would wait for it. */
const failuresInARowMax = 5;

interface Unreadable {
  readonly sizeBytes: number;
  readonly version: string;
  readonly sha256: string;
  readonly sinceMs: number;
}

/** A file that was recorded, and is to be removed later. */
type Recorded = Pick<Unreadable, 'sizeBytes' | 'version'> & { readonly atMs: number };

interface Stuck {
  readonly file: RemoteFile;
  readonly state: StayingState;
  readonly error: BankUnavailable | BankRefused;
  /** Whether what the file says now was taken in. */
  readonly isRead: boolean;
}

export interface InboxRound {
  /** 0 when there is more to take in, else null. */
  readonly nextInMs: 0 | null;
  /** Whether none of its files was still being uploaded. */
  readonly isSettled: boolean;
  /** Whether everything that the bank had for us when the round began was taken in. */
  readonly isComplete: boolean;
}

export class AchInbox {
  private readonly unreadable = new Map<string, Unreadable>();
  private readonly recorded = new Map<string, Recorded>();

  constructor(private readonly options: AchInboxOptions) {}

  /**
   * Takes in what the bank has for us.
   * @throws BankUnavailable after the other files were taken in, when one fails for the first time or the bank
   * is away; connection errors of PostgreSQL, StoreUnavailable. The files stay in the inbox
   */
  async round(): Promise<InboxRound> {
    const { transport, staying } = this.options;
    const inInbox = await transport.list(inboxListMax);
    const names = namesOf(inInbox);
    const listed = inInbox.filter(({ isUnsettled }) => isUnsettled !== true);
    const isSettled = listed.length === inInbox.length;
    for (const known of [this.unreadable, this.recorded])
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    const known = await staying.among(listed);
    const due: RemoteFile[] = [];
    let isComplete = isSettled && inInbox.length < inboxListMax;
    for (const file of listed) {
      const before = known.get(file.name);
      if (before?.isResting === true) isComplete &&= before.state === 'kept';
      else if (this.isWaiting(file)) isComplete = false;
      else if (!this.isRecorded(file)) due.push(file);
    }
    const stuck: Stuck[] = [];
    let failuresInARow = 0;
    for (const file of due.slice(0, filesPerRoundMax)) {
      const result = await this.takeIn(file, known.get(file.name)?.state === 'kept');
      if (result === 'waiting' || (typeof result === 'object' && !result.isRead))
        isComplete = false;
      if (typeof result === 'object') {
        stuck.push(result);
        failuresInARow += 1;
        if (failuresInARow % failuresInARowMax === 0) await transport.list(1);
        continue;
      }
      failuresInARow = 0;
      if (result !== 'waiting' && known.has(file.name)) await staying.delete(file.name);
    }
    await this.remember(stuck);
    const hasMore = due.length > filesPerRoundMax;
    return { nextInMs: hasMore ? 0 : null, isSettled, isComplete: isComplete && !hasMore };
  }

  /** @param isKept it was recorded before, and could not be removed */
  private async takeIn(
    file: RemoteFile,
    isKept: boolean,
  ): Promise<'out' | 'recorded' | 'waiting' | Stuck> {
    const { transport, log, inbound } = this.options;
    let bytes: Uint8Array;
    try {
      bytes = await transport.get(file.name);
    } catch (error) {
      return stuckBy(file, 'unread', error);
    }
    const content = await contentOf(bytes);
    let isNew: boolean;
    try {
      if (content.kind === 'unreadable') {
        if (!this.graceIsOver(file, bytes)) return 'waiting';
        log.error(
          { file: file.name, problem: content.problem },
          'an inbound ACH file is unreadable',
        );
      }
      isNew = (await inbound.record(file.name, bytes, content)) !== null;
    } catch (error) {
      if (isTransient(error)) throw error;
      // Something in this file is at fault. It must not hold up the others.
      if (!this.graceIsOver(file, bytes)) return 'waiting';
      log.error({ err: error, file: file.name }, 'an inbound ACH file cannot be applied');
      const unreadable = { kind: 'unreadable', problem: 'it cannot be applied' } as const;
      isNew = (await inbound.record(file.name, bytes, unreadable)) !== null;
    }
    if (!this.mayRemove(file, isNew, isKept)) return 'recorded';
    try {
      // The bank has used the name again: the newer file is read next.
      if (!(await transport.remove(file)))
        return {
          file,
          state: 'kept',
          error: new BankUnavailable('it was written again'),
          isRead: false,
        };
    } catch (error) {
      return stuckBy(file, 'kept', error);
    }
    this.unreadable.delete(file.name);
    this.recorded.delete(file.name);
    return 'out';
  }

  /** Not if it was recorded just now. Then it is left alone until its time is over. */
  private mayRemove(file: RemoteFile, isNew: boolean, isKept: boolean): boolean {
    const { clock, removeAfterMs } = this.options;
    const isOld = isKept || this.recordedAs(file) !== null;
    if (removeAfterMs === 0 || (isOld && !isNew)) return true;
    const { sizeBytes, version } = file;
    this.recorded.set(file.name, { sizeBytes, version, atMs: clock() });
    return false;
  }

  private isRecorded(file: RemoteFile): boolean {
    const { clock, removeAfterMs } = this.options;
    const known = this.recordedAs(file);
    return known !== null && clock() < known.atMs + removeAfterMs;
  }

  private recordedAs({ name, sizeBytes, version }: RemoteFile): Recorded | null {
    const known = this.recorded.get(name);
    return known?.sizeBytes === sizeBytes && known.version === version ? known : null;
  }

  /** While the bank can be reached, the failure is the file's. Files that another process took in are gone. */
  private async remember(stuck: readonly Stuck[]): Promise<void> {
    if (stuck.length === 0) return;
    const { transport, staying, log } = this.options;
    const names = namesOf(await transport.list(inboxListMax));
    let first: BankUnavailable | null = null;
    for (const { file, state, error } of stuck) {
      if (!names.has(file.name)) continue;
      if (!(await staying.add(file, state, error))) continue;
      const facts = { err: error, file: file.name };
      const message = `an inbound ACH file cannot be ${failed[state]}, and stays`;
      if (error instanceof BankRefused) {
        log.error(facts, message);
        continue;
      }
      log.warn(facts, message);
      first ??= error;
    }
    if (first !== null) throw first;
  }

  /** Read before, could not be used, and was not written since. */
  private isWaiting({ name, sizeBytes, version }: RemoteFile): boolean {
    const known = this.unreadable.get(name);
    if (known?.sizeBytes !== sizeBytes || known.version !== version) return false;
    return this.options.clock() < known.sinceMs + this.options.unreadableGraceMs;
  }

  private graceIsOver({ name, sizeBytes, version }: RemoteFile, bytes: Uint8Array): boolean {
    const { clock, unreadableGraceMs } = this.options;
    const sha256 = sha256Of(bytes);
    const known = this.unreadable.get(name);
    const sinceMs = known?.sha256 === sha256 ? known.sinceMs : clock();
    this.unreadable.set(name, { sizeBytes, version, sha256, sinceMs });
    return clock() >= sinceMs + unreadableGraceMs;
  }
}

const failed = { unread: 'read', kept: 'removed' } as const satisfies Record<StayingState, string>;

/** @throws any error that is not the bank's */
function stuckBy(file: RemoteFile, state: StayingState, error: unknown): Stuck {
  if (error instanceof BankUnavailable || error instanceof BankRefused)
    return { file, state, error, isRead: state === 'kept' };
  throw error;
}

function namesOf(files: readonly RemoteFile[]): ReadonlySet<string> {
  return new Set(files.map(({ name }) => name));
}
