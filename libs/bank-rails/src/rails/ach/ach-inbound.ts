/**
 * The way in. A file of the bank is read whole, then everything it says is applied in the transaction that records
 * its bytes. A file with the same bytes was applied already: it is only taken out of the inbox, unless it could not
 * be read or applied then. What matches nothing goes into the feed under a reference that no payment can have, so
 * that staff see it.
 */
import { type Keyring, KeyDestroyed, ownerOf } from '@pis/keyring';
import { inTransaction, isTransient } from '@pis/postgres';
import type pg from 'pg';
import { BankRefused, BankUnavailable, type CorrectedData } from '../../bank-connection.js';
import {
  type ArchiveSegment,
  type FileArchive,
  forgetUnreadable,
} from '../../connections/file-archive.js';
import type { FileTransport, RemoteFile } from '../../connections/file-transport.js';
import type { AckFile } from './ack-file.js';
import { kindOfAchFile, parseAckFile } from './ack-lines.js';
import {
  applyAck,
  applyReturns,
  entriesByTrace,
  type KnownEntry,
  type ReturnedEntry,
} from './ach-answers.js';
import { type AchReport, appendReports, unmatchedFile, unmatchedTrace } from './ach-feed.js';
import { sha256Of } from './ach-file-builder.js';
import { type AchLog, lockBank } from './ach-tables.js';
import { type CorrectionAddenda, type NachaFile, transactionCodes } from './nacha-file.js';
import { nachaProblemText, parseNachaFile } from './nacha-parser.js';
import { recordLength } from './nacha-records.js';

export interface AchInboundOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly archive: FileArchive;
  readonly transport: FileTransport;
  readonly log: AchLog;
  /** A file that cannot be read may still be written: it is read again for so long. */
  readonly unreadableGraceMs: number;
  /** Milliseconds that only grow. */
  readonly clock: () => number;
  /** Called when a file was taken in. */
  readonly onReports: () => void;
}

/** Files of one round. More wait for the next one. */
const filesPerRoundMax = 200;
/** Returns and corrections that one statement applies. */
const chunkMax = 1_000;

interface Unreadable {
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly sinceMs: number;
}

/** What a file says, before anything is looked up. */
type Content =
  | { readonly kind: 'ack'; readonly ack: AckFile }
  | { readonly kind: 'nacha'; readonly file: NachaFile }
  | { readonly kind: 'unreadable'; readonly problem: string };

export class AchInbound {
  private readonly unreadable = new Map<string, Unreadable>();

  constructor(private readonly options: AchInboundOptions) {}

  /**
   * Takes in what the bank has for us. Returns 0 when there is more, else null.
   * @throws BankUnavailable, connection errors of PostgreSQL, StoreUnavailable: the file stays in the inbox
   */
  async round(): Promise<number | null> {
    const files = await this.options.transport.list(filesPerRoundMax);
    const names = new Set(files.map(({ name }) => name));
    for (const name of this.unreadable.keys()) if (!names.has(name)) this.unreadable.delete(name);
    let taken = 0;
    for (const file of files) if (await this.takeIn(file)) taken += 1;
    return files.length === filesPerRoundMax && taken > 0 ? 0 : null;
  }

  /** @returns whether it is out of the inbox */
  private async takeIn(file: RemoteFile): Promise<boolean> {
    if (this.isWaiting(file)) return false;
    const { transport, log } = this.options;
    const bytes = await this.fetch(file);
    if (bytes === null) return false;
    const content = await contentOf(bytes);
    try {
      if (content.kind === 'unreadable') {
        if (!this.graceIsOver(file, bytes)) return false;
        log.error(
          { file: file.name, problem: content.problem },
          'an inbound ACH file is unreadable',
        );
      }
      await this.record(file.name, bytes, content);
    } catch (error) {
      if (error instanceof BankUnavailable || isTransient(error)) throw error;
      // Something in this file is at fault. It must not hold up the others.
      if (!this.graceIsOver(file, bytes)) return false;
      log.error({ err: error, file: file.name }, 'an inbound ACH file cannot be applied');
      await this.record(file.name, bytes, { kind: 'unreadable', problem: 'it cannot be applied' });
    }
    await transport.remove(file.name);
    this.unreadable.delete(file.name);
    return true;
  }

  /** Null when there is nothing to read. @throws BankUnavailable */
  private async fetch(file: RemoteFile): Promise<Uint8Array | null> {
    const { transport, log, clock } = this.options;
    try {
      return await transport.get(file.name);
    } catch (error) {
      if (error instanceof BankUnavailable) {
        const files = await transport.list(filesPerRoundMax);
        // Another process took it in.
        if (!files.some(({ name }) => name === file.name)) return null;
      }
      if (!(error instanceof BankRefused)) throw error;
      log.error({ err: error, file: file.name }, 'an inbound ACH file cannot be fetched');
      // It stays in the inbox, and is asked for less often.
      this.unreadable.set(file.name, { sizeBytes: file.sizeBytes, sha256: '', sinceMs: clock() });
      return null;
    }
  }

  /** Read before, could not be used, and has not grown since. */
  private isWaiting({ name, sizeBytes }: RemoteFile): boolean {
    const known = this.unreadable.get(name);
    if (known === undefined || known.sizeBytes !== sizeBytes) return false;
    return this.options.clock() < known.sinceMs + this.options.unreadableGraceMs;
  }

  private graceIsOver({ name, sizeBytes }: RemoteFile, bytes: Uint8Array): boolean {
    const { clock, unreadableGraceMs } = this.options;
    const sha256 = sha256Of(bytes);
    const known = this.unreadable.get(name);
    const sinceMs = known?.sha256 === sha256 ? known.sinceMs : clock();
    this.unreadable.set(name, { sizeBytes, sha256, sinceMs });
    return clock() >= sinceMs + unreadableGraceMs;
  }

  private async record(name: string, bytes: Uint8Array, content: Content): Promise<void> {
    const { bank, pool, archive, log } = this.options;
    const prepared = await this.prepared(name, bytes, content);
    const reports = await inTransaction(pool, async (client) => {
      await lockBank(client, bank);
      const file = {
        ...({ connection: bank, rail: 'ACH', way: 'in', kind: content.kind, name } as const),
        segments: prepared.segments,
      };
      const kept = await archive.keep(file, client);
      if (!kept.isNew) {
        // Applied before, unless it could not be read then.
        const isReadAtLast =
          content.kind !== 'unreadable' && (await forgetUnreadable(client, kept.id));
        if (!isReadAtLast) return null;
        await archive.keep(file, client);
      }
      const said = await prepared.apply(client);
      await appendReports(client, bank, said);
      return said;
    });
    const count = reports?.length ?? 0;
    log.info(
      { file: name, kind: content.kind, reports: count, isNew: reports !== null },
      'an inbound ACH file is recorded',
    );
    this.options.onReports();
  }

  /** Everything that needs no transaction: owners of the segments, and sealed corrections. */
  private async prepared(name: string, bytes: Uint8Array, content: Content): Promise<Prepared> {
    const { bank } = this.options;
    switch (content.kind) {
      case 'ack':
        return {
          segments: [wholly(bytes)],
          apply: (client) => applyAck(client, bank, content.ack),
        };
      case 'nacha':
        return this.preparedNacha(name, bytes, content.file);
      case 'unreadable':
        return {
          segments: [wholly(bytes)],
          apply: () => Promise.resolve([{ reference: unmatchedFile(name), type: 'unreadable' }]),
        };
    }
  }

  private async preparedNacha(name: string, bytes: Uint8Array, file: NachaFile): Promise<Prepared> {
    const { bank, pool } = this.options;
    const entries = file.batches.flatMap((batch) => batch.entries);
    const originals = entries.map(({ addenda }) =>
      addenda === null || addenda.kind === 'payment' ? null : addenda.originalTraceNumber,
    );
    const known = new Map<string, KnownEntry>();
    for (const chunk of chunks(originals.filter((trace) => trace !== null)))
      for (const [trace, entry] of await entriesByTrace(pool, bank, chunk)) known.set(trace, entry);
    const returns: ReturnedEntry[] = [];
    const corrections: AchReport[] = [];
    for (const { addenda, amountMinor, individualId } of entries) {
      if (addenda === null || addenda.kind === 'payment')
        // Nobody sends us payments here.
        corrections.push({ reference: unmatchedFile(name), type: 'unreadable' });
      else if (addenda.kind === 'correction')
        corrections.push(await this.correction(addenda, known));
      else returns.push({ addenda, amountMinor, individualId });
    }
    return {
      segments: segmentsOf(bytes, (index) => known.get(originals[index] ?? '')),
      apply: async (client) => {
        const reports: AchReport[] = [];
        for (const chunk of chunks(returns))
          reports.push(...(await applyReturns(client, bank, chunk)));
        return [...reports, ...corrections];
      },
    };
  }

  private async correction(
    addenda: CorrectionAddenda,
    known: ReadonlyMap<string, KnownEntry>,
  ): Promise<AchReport> {
    const entry = known.get(addenda.originalTraceNumber);
    const reference = unmatchedTrace(addenda.originalTraceNumber);
    if (entry === undefined) return { reference, type: 'corrected' };
    const data = JSON.stringify(correctedData(addenda));
    try {
      const corrected = await this.options.keyring.seal(ownerOf.contact(entry.contactId), data);
      const { changeCode } = addenda;
      return {
        reference: entry.reference,
        type: 'corrected',
        correction: { changeCode, corrected },
      };
    } catch (error) {
      if (!(error instanceof KeyDestroyed)) throw error;
      // The contact was erased since: nothing may be kept of it.
      return { reference, type: 'corrected' };
    }
  }
}

interface Prepared {
  readonly segments: readonly ArchiveSegment[];
  apply(client: pg.ClientBase): Promise<readonly AchReport[]>;
}

async function contentOf(bytes: Uint8Array): Promise<Content> {
  const kind = kindOfAchFile(bytes);
  switch (kind) {
    case 'ack': {
      const { file, problem } = await parseAckFile(bytes);
      return file === null ? unreadable(nachaProblemText(problem)) : { kind, ack: file };
    }
    case 'nacha': {
      const { file, problem } = await parseNachaFile(bytes);
      return file === null ? unreadable(nachaProblemText(problem)) : { kind, file };
    }
    case 'inquiry':
    case null:
      return unreadable('It is neither a NACHA file nor an acknowledgement.');
  }
}

function unreadable(problem: string): Content {
  return { kind: 'unreadable', problem };
}

function correctedData({ corrected }: CorrectionAddenda): CorrectedData {
  const { routingNumber, accountNumber, transactionCode, individualName } = corrected;
  const isOther = [routingNumber, accountNumber, transactionCode, individualName].every(
    (field) => field === null,
  );
  return {
    ...(routingNumber !== null && { achRoutingNumber: routingNumber }),
    ...(accountNumber !== null && { achAccountNumber: accountNumber }),
    ...(transactionCode !== null && { subType: transactionCodes[transactionCode].account }),
    ...(individualName !== null && { name: individualName }),
    ...(isOther && { other: corrected.text }),
  };
}

function wholly(bytes: Uint8Array): ArchiveSegment {
  return { bytes, owner: null, paymentId: null };
}

const newline = 0x0a;
const entryDigit = 0x36;
const addendaDigit = 0x37;

/**
 * The file's own bytes, cut so that each entry with its addenda is a segment of its own.
 * @param entryAt the entry of ours that the n-th entry of the file is about
 */
function segmentsOf(
  bytes: Uint8Array,
  entryAt: (index: number) => KnownEntry | undefined,
): readonly ArchiveSegment[] {
  const segments: ArchiveSegment[] = [];
  let start = 0;
  let current: KnownEntry | undefined;
  let entries = 0;
  const cut = (end: number): void => {
    if (end === start) return;
    const part = bytes.subarray(start, end);
    segments.push(
      current === undefined
        ? wholly(part)
        : { bytes: part, owner: ownerOf.contact(current.contactId), paymentId: current.paymentId },
    );
    start = end;
  };
  const hasLineEnds = bytes.subarray(0, recordLength + 2).includes(newline);
  for (let line = 0; line < bytes.length; ) {
    const type = bytes[line];
    if (type === entryDigit) {
      cut(line);
      current = entryAt(entries);
      entries += 1;
    } else if (type !== addendaDigit && current !== undefined) {
      cut(line);
      current = undefined;
    }
    const end = hasLineEnds ? bytes.indexOf(newline, line) : line + recordLength - 1;
    line = end === -1 ? bytes.length : end + 1;
  }
  cut(bytes.length);
  return segments;
}

function* chunks<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += chunkMax)
    yield items.slice(start, start + chunkMax);
}
