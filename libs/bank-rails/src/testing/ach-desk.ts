/**
 * A bank that takes NACHA files, in memory, for the specs of achBank. It knows nothing of achBank but the bytes. The
 * last four digits of the account decide, as in the sandbox. `executions` is what its books say.
 */
import { createHash } from 'node:crypto';
import { BankRefused, BankUnavailable } from '../bank-connection.js';
import {
  type FileTransport,
  isSafeFileName,
  type RemoteFile,
} from '../connections/file-transport.js';
import type { ChangeCode, Correction } from '../rails/ach/corrected-data.js';
import type { AckEntry, AckFile } from '../rails/ach/ack-file.js';
import { kindOfAchFile, parseInquiryFile, writeAckFile } from '../rails/ach/ack-lines.js';
import { type EntryOfBatch, groupIntoFiles } from '../rails/ach/nacha-batches.js';
import type { NachaFileHeader } from '../rails/ach/nacha-file.js';
import { traceNumberOf } from '../rails/ach/nacha-file.js';
import { parseNachaFile } from '../rails/ach/nacha-parser.js';
import { writeNachaFile } from '../rails/ach/nacha-writer.js';
import { correctionEntry, returnedEntry } from '../rails/ach/returned-entries.js';

const at = '2026-11-24T15:00:00.000Z';
const rdfi = '01100013';

const header: NachaFileHeader = {
  immediateDestination: '1234567890',
  immediateOrigin: '021000021',
  createdOn: '2026-11-24',
  createdAt: '15:00',
  fileIdModifier: 'A',
  destinationName: 'US',
  originName: 'THE BANK',
  referenceCode: '',
};

interface TakenEntry extends EntryOfBatch {
  readonly file: Pick<AckFile, 'name' | 'sha256'>;
}

export class AchDesk {
  /** Entries in its files so far. Each has a trace number of its own, whichever file it is in. */
  private answers = 0;
  /** How often each trace number was executed. */
  readonly executions = new Map<string, number>();
  /** Every upload that arrived whole, in order. */
  readonly uploads: { readonly name: string; readonly bytes: Uint8Array }[] = [];
  /** Our inbox: files that were not removed yet. */
  readonly inbox = new Map<string, Uint8Array>();
  /** Uploads that were not dealt with yet. */
  readonly outbox = new Map<string, Uint8Array>();
  /** Whether uploads are dealt with at once. Otherwise by `answer`. */
  answersAtOnce = true;
  /** How often each file of the inbox was written. */
  private readonly written = new Map<string, number>();
  private readonly seen = new Set<string>();
  private readonly taken = new Map<string, TakenEntry>();
  private readonly listeners = new Set<() => void>();
  private files = 0;

  transport(): FileTransport {
    return {
      put: (name, bytes) => this.put(name, bytes),
      list: (max) =>
        Promise.resolve(
          [...this.inbox]
            .map(([name, bytes]) => this.remote(name, bytes))
            .sort((one, other) => (one.name < other.name ? -1 : 1))
            .slice(0, max),
        ),
      get: async (name) => {
        await safe(name);
        const bytes = this.inbox.get(name);
        if (bytes === undefined) throw new BankUnavailable('no such file');
        return bytes;
      },
      remove: async ({ name, sizeBytes, version }) => {
        await safe(name);
        const bytes = this.inbox.get(name);
        if (bytes === undefined) return true;
        const now = this.remote(name, bytes);
        if (now.sizeBytes !== sizeBytes || now.version !== version) return false;
        return this.inbox.delete(name);
      },
      onFile: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
      close: () => Promise.resolve(),
    };
  }

  /** Puts a file into our inbox. */
  post(name: string, bytes: Uint8Array): void {
    this.inbox.set(name, bytes);
    this.written.set(name, (this.written.get(name) ?? 0) + 1);
    for (const listener of this.listeners) listener();
  }

  postAck(ack: Partial<AckFile> & Pick<AckFile, 'name' | 'sha256'>): void {
    this.post(`${this.nextName()}.jsonl`, ackBytes(ack));
  }

  /** Returns executed entries, all in one file. */
  async postReturns(
    traceNumbers: readonly string[],
    reason: string | null,
    name = `${this.nextName()}.ach`,
  ): Promise<Uint8Array> {
    const items = traceNumbers.map((trace) => {
      const original = this.taken.get(trace);
      if (original === undefined) throw new Error(`the bank has no entry ${trace}`);
      return returnedEntry(original, {
        reason,
        traceNumber: traceNumberOf(rdfi, (this.answers += 1)),
      });
    });
    const [batches = []] = groupIntoFiles(items);
    const bytes = await writeNachaFile({ header, batches });
    this.post(name, bytes);
    return bytes;
  }

  /** Posts the entries of a file again, in a file with other bytes. */
  async postAgain(bytes: Uint8Array): Promise<void> {
    const { file, problem } = await parseNachaFile(bytes);
    if (file === null) throw new Error(`the file cannot be read: ${problem.message}`);
    const other = { ...file, header: { ...file.header, fileIdModifier: 'B' } };
    this.post(`${this.nextName()}.ach`, await writeNachaFile(other));
  }

  /** Says what should be changed in an entry that it has. */
  async postCorrection(
    traceNumber: string,
    changeCode: ChangeCode,
    correction: Correction,
  ): Promise<void> {
    const original = this.taken.get(traceNumber);
    if (original === undefined) throw new Error(`the bank has no entry ${traceNumber}`);
    const terms = { changeCode, correction, traceNumber: traceNumberOf(rdfi, (this.answers += 1)) };
    const [batches = []] = groupIntoFiles([correctionEntry(original, terms)]);
    this.post(`${this.nextName()}.ach`, await writeNachaFile({ header, batches }));
  }

  /** Deals with everything that was uploaded. */
  async answer(): Promise<void> {
    for (const [name, bytes] of [...this.outbox]) {
      this.outbox.delete(name);
      await this.deal(name, bytes);
    }
  }

  /** The n-th upload. */
  upload(index = 0): {
    readonly name: string;
    readonly sha256: string;
    readonly bytes: Uint8Array;
  } {
    const file = this.uploads[index];
    if (file === undefined) throw new Error('nothing was uploaded');
    return { ...file, sha256: sha256Of(file.bytes) };
  }

  entry(traceNumber: string): EntryOfBatch | undefined {
    return this.taken.get(traceNumber);
  }

  private remote(name: string, bytes: Uint8Array): RemoteFile {
    return { name, sizeBytes: bytes.length, version: String(this.written.get(name) ?? 0) };
  }

  private async put(name: string, bytes: Uint8Array): Promise<void> {
    await safe(name);
    const present = this.outbox.get(name);
    if (present !== undefined && Buffer.compare(present, bytes) !== 0)
      throw new BankRefused('there is another file of this name');
    this.outbox.set(name, bytes);
    this.uploads.push({ name, bytes });
    if (this.answersAtOnce) await this.answer();
  }

  private async deal(name: string, bytes: Uint8Array): Promise<void> {
    const sha256 = sha256Of(bytes);
    if (kindOfAchFile(bytes) === 'inquiry') return this.dealWithInquiry(bytes);
    if (this.seen.has(sha256)) return this.postAck({ name, sha256, status: 'duplicate' });
    const { file, problem } = await parseNachaFile(bytes);
    if (file === null) throw new Error(`an upload cannot be read: ${problem.message}`);
    this.seen.add(sha256);
    const answers: AckEntry[] = [];
    const returned = new Map<string | null, string[]>();
    for (const batch of file.batches)
      for (const entry of batch.entries) {
        const trace = entry.traceNumber;
        this.taken.set(trace, { batch, entry, file: { name, sha256 } });
        const ending = entry.accountNumber.slice(-4);
        const answer = answersTo[ending];
        if (answer?.status !== 'rejected' && entry.amountMinor > 0)
          this.executions.set(trace, (this.executions.get(trace) ?? 0) + 1);
        if (answer !== undefined) answers.push({ traceNumber: trace, ...answer });
        const reason = reasonOf(ending);
        if (reason !== undefined) returned.set(reason, [...(returned.get(reason) ?? []), trace]);
      }
    this.postAck({ name, sha256, status: 'accepted', entries: answers });
    for (const [reason, traces] of returned) await this.postReturns(traces, reason);
  }

  private async dealWithInquiry(bytes: Uint8Array): Promise<void> {
    const { file } = await parseInquiryFile(bytes);
    for (const traceNumber of file?.traceNumbers ?? []) {
      const taken = this.taken.get(traceNumber);
      if (taken === undefined) throw new Error(`the bank has no entry ${traceNumber}`);
      const ending = taken.entry.accountNumber.slice(-4);
      const status = ending === '0402' ? 'accepted' : 'pending';
      const answer = answersTo[ending];
      const entries = [
        answer?.status === 'rejected'
          ? { traceNumber, ...answer }
          : ({ traceNumber, status, code: null, message: null } as const),
      ];
      this.postAck({ ...taken.file, status: 'update', entries });
    }
  }

  private nextName(): string {
    this.files += 1;
    return `BANK-${String(this.files).padStart(6, '0')}`;
  }
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function safe(name: string): Promise<void> {
  await Promise.resolve();
  if (!isSafeFileName(name)) throw new BankRefused('not a name for a file');
}

export function ackBytes(ack: Partial<AckFile> & Pick<AckFile, 'name' | 'sha256'>): Uint8Array {
  return writeAckFile({ status: 'accepted', code: null, message: null, at, entries: [], ...ack });
}

const answersTo: Readonly<Record<string, Omit<AckEntry, 'traceNumber'> | undefined>> = {
  '0204': { status: 'rejected', code: 'OTHER', message: 'not today' },
  '0205': { status: 'rejected', code: 'ACCOUNT_NUMBER', message: null },
  '0401': { status: 'pending', code: null, message: null },
  '0402': { status: 'pending', code: null, message: null },
  '0502': { status: 'held', code: 'REVIEW', message: null },
};

/** Undefined: the entry does not come back. */
function reasonOf(ending: string): string | null | undefined {
  if (ending === '0199') return null;
  if (/^010[127]$/.test(ending)) return `R${ending.slice(2)}`;
  return /^90\d\d$/.test(ending) ? `R${ending.slice(2)}` : undefined;
}

/** A transport that fails where the test says so, before or after the call took effect. */
export function failingTransport(
  inner: FileTransport,
  fails: (call: 'put' | 'list' | 'get' | 'remove', moment: 'before' | 'after') => boolean,
): FileTransport {
  const wrap =
    <Args extends readonly unknown[], Result>(
      call: 'put' | 'list' | 'get' | 'remove',
      work: (...args: Args) => Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> => {
      if (fails(call, 'before')) throw new BankUnavailable(`${call} failed`);
      const result = await work(...args);
      if (fails(call, 'after')) throw new BankUnavailable(`${call} failed after it took effect`);
      return result;
    };
  return {
    ...inner,
    put: wrap('put', inner.put),
    list: wrap('list', inner.list),
    get: wrap('get', inner.get),
    remove: wrap('remove', inner.remove),
  };
}
