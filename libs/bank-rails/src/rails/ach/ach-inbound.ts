/**
 * What a file of the bank does. It is read whole, then everything it says is applied in the transaction that records
 * its bytes. A file with the same bytes was applied already, unless it could not be read or applied then. What
 * matches nothing goes into the feed under a reference that no payment can have, so that staff see it.
 */
import { CannotOpen, type Keyring, KeyDestroyed, ownerOf } from '@pis/keyring';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { correctionPlace, type CorrectedData } from '../../bank-connection.js';
import { railReferenceOf } from '../../rail-reference.js';
import { forgetUnreadable } from '../../connections/archive-retention.js';
import { noteAnswer } from '../../connections/archive-table.js';
import type { ArchiveSegment, FileArchive } from '../../connections/file-archive.js';
import type { AckFile } from './ack-file.js';
import { kindOfAchFile, parseAckFile } from './ack-lines.js';
import { applyAck } from './ach-answers.js';
import { ackCopy, nachaCopy, unmatchedSegment } from './ach-copies.js';
import {
  type AchReport,
  appendReports,
  unmatchedFile,
  unmatchedTrace,
  unreported,
  withoutRepeatedCorrections,
} from './ach-feed.js';
import {
  archivedFileNamed,
  entriesByTrace,
  findAckedFile,
  hasIdOf,
  type KnownEntry,
} from './ach-known.js';
import { correctionNotKept, isPrenote, withPrenoteAnswers } from './ach-prenote-answers.js';
import { applyReturns, type ReturnedEntry } from './ach-returns.js';
import { type AchLog, lockBank } from './ach-tables.js';
import {
  type CorrectionAddenda,
  type NachaFile,
  type SkippedBatch,
  transactionCodes,
} from './nacha-file.js';
import { nachaProblemText, parseNachaFile } from './nacha-parser.js';

export interface AchInboundOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly archive: FileArchive;
  readonly log: AchLog;
  /** Called when a file was applied. */
  readonly onReports: () => void;
}

/** Returns and corrections that one statement applies. */
const chunkMax = 1_000;

/** What a file says, before anything is looked up. */
export type Content =
  | { readonly kind: 'ack'; readonly ack: AckFile }
  | {
      readonly kind: 'nacha';
      readonly file: NachaFile;
      readonly skipped: readonly SkippedBatch[];
    }
  | { readonly kind: 'unreadable'; readonly problem: string };

export class AchInbound {
  constructor(private readonly options: AchInboundOptions) {}

  /**
   * Keeps the file and applies what it says, in one transaction. Bytes that were applied before are applied again
   * only on request (`isAgain`): then nothing is reported that was reported before.
   * @returns how many reports it made; null when it was applied before
   * @throws connection errors of PostgreSQL, StoreUnavailable: nothing has changed
   */
  async record(
    name: string,
    bytes: Uint8Array,
    content: Content,
    { isAgain = false }: { readonly isAgain?: boolean } = {},
  ): Promise<number | null> {
    const { bank, pool, archive, keyring, log } = this.options;
    const prepared = await this.prepared(name, bytes, content);
    const textOf = (reference: string, corrected: string) =>
      this.textOf(prepared.contacts.get(reference), reference, corrected);
    const recorded = await inTransaction(pool, async (client) => {
      await lockBank(client, bank);
      const file = {
        ...({ connection: bank, rail: 'ACH', way: 'in', kind: content.kind, name } as const),
        segments: prepared.segments,
      };
      let kept = await archive.keep(file, client);
      // Applied before, unless it could not be read then.
      const isReadAtLast =
        !kept.isNew && content.kind !== 'unreadable' && (await forgetUnreadable(client, kept.id));
      const unreadableId = isReadAtLast ? kept.id : null;
      if (!kept.isNew) {
        if (isReadAtLast) kept = await archive.keep(file, client);
        else if (!isAgain) return null;
      }
      if (content.kind === 'ack') await this.link(client, kept.id, content.ack);
      const reports = await withPrenoteAnswers(client, bank, await prepared.apply(client));
      const said = await withoutRepeatedCorrections(client, { bank, reports, textOf });
      const news = isAgain ? await unreported(client, { bank, reports: said, textOf }) : said;
      await appendReports(client, bank, news);
      return { count: news.length, replacedId: unreadableId };
    });
    const count = recorded?.count ?? null;
    log.info(
      { file: name, kind: content.kind, reports: count ?? 0, isNew: count !== null },
      'an inbound ACH file is recorded',
    );
    this.options.onReports();
    const replacedId = recorded?.replacedId ?? null;
    if (replacedId !== null) await keyring.destroy([ownerOf.railFile(replacedId)]);
    return count;
  }

  /** An acknowledgement may list no entry: then it is found through the file that it is about. */
  private async link(client: pg.ClientBase, id: string, { name }: AckFile): Promise<void> {
    const answeredId = await archivedFileNamed(client, this.options.bank, name);
    if (answeredId !== null) await noteAnswer(client, { id, answeredId });
  }

  /** Everything that needs no transaction: owners of the segments, and sealed corrections. */
  private async prepared(name: string, bytes: Uint8Array, content: Content): Promise<Prepared> {
    const { bank } = this.options;
    switch (content.kind) {
      case 'ack':
        return {
          segments: await this.ackSegments(bytes, content.ack),
          contacts: new Map(),
          apply: (client) => applyAck(client, bank, content.ack),
        };
      case 'nacha':
        return this.preparedNacha(name, bytes, content);
      case 'unreadable':
        return {
          segments: [unmatchedSegment(bytes)],
          contacts: new Map(),
          apply: () => Promise.resolve([{ reference: unmatchedFile(name), type: 'unreadable' }]),
        };
    }
  }

  private async ackSegments(bytes: Uint8Array, ack: AckFile): Promise<readonly ArchiveSegment[]> {
    const { bank, pool } = this.options;
    const file = await findAckedFile(pool, bank, ack);
    const known = await this.known(ack.entries.map(({ traceNumber }) => traceNumber));
    return ackCopy(bytes, ack, (trace) => {
      const entry = known.get(trace);
      return file !== null && entry?.fileId === file.id ? entry : undefined;
    });
  }

  private async known(traces: readonly string[]): Promise<ReadonlyMap<string, KnownEntry>> {
    const { bank, pool } = this.options;
    const known = new Map<string, KnownEntry>();
    for (const chunk of chunks(traces))
      for (const [trace, entry] of await entriesByTrace(pool, bank, chunk)) known.set(trace, entry);
    return known;
  }

  private async preparedNacha(
    name: string,
    bytes: Uint8Array,
    { file, skipped }: Extract<Content, { readonly kind: 'nacha' }>,
  ): Promise<Prepared> {
    const { bank, log } = this.options;
    if (skipped.length > 0)
      log.error({ file: name, skipped }, 'an inbound ACH file has batches that are not supported');
    const entries = file.batches.flatMap((batch) => batch.entries);
    const originals = entries.map(({ addenda }) =>
      addenda === null || addenda.kind === 'payment' ? null : addenda.originalTraceNumber,
    );
    const known = await this.known(originals.filter((trace) => trace !== null));
    // A trace number alone may be that of another entry.
    const entryAt = (index: number): KnownEntry | undefined => {
      const entry = known.get(originals[index] ?? '');
      const isSame = entry !== undefined && hasIdOf(entries[index]?.individualId, entry);
      return isSame ? entry : undefined;
    };
    const returns: ReturnedEntry[] = [];
    const corrections: AchReport[] = [];
    for (const [index, entry] of entries.entries()) {
      const { addenda, amountMinor, individualId, traceNumber } = entry;
      if (addenda === null || addenda.kind === 'payment')
        // Nobody sends us payments here.
        corrections.push({ reference: unmatchedFile(name), type: 'unreadable' });
      else if (addenda.kind === 'correction')
        corrections.push(await this.correction(addenda, entryAt(index)));
      else returns.push({ addenda, amountMinor, individualId, traceNumber });
    }
    // Staff read them.
    corrections.push(
      ...skipped.map(() => ({ reference: unmatchedFile(name), type: 'unreadable' }) as const),
    );
    return {
      segments: nachaCopy(bytes, entryAt),
      contacts: new Map([...known.values()].map((entry) => [paymentOf(entry), entry.contactId])),
      apply: async (client) => {
        const reports: AchReport[] = [];
        for (const chunk of chunks(returns))
          reports.push(...(await applyReturns(client, bank, chunk)));
        return [...reports, ...corrections];
      },
    };
  }

  /** Null when the contact was erased, or the text was altered: it must not keep the file from being applied. */
  private async textOf(
    contactId: string | undefined,
    reference: string,
    sealed: string,
  ): Promise<string | null> {
    if (contactId === undefined) return null;
    const place = correctionPlace(this.options.bank, reference);
    const owner = ownerOf.contact(contactId);
    try {
      return (await this.options.keyring.openAll([{ sealed, owner, place }]))[0] ?? null;
    } catch (error) {
      if (error instanceof CannotOpen) return null;
      throw error;
    }
  }

  private async correction(
    addenda: CorrectionAddenda,
    entry: KnownEntry | undefined,
  ): Promise<AchReport> {
    const reference = unmatchedTrace(addenda.originalTraceNumber);
    if (entry === undefined) return { reference, type: 'corrected' };
    const { bank, keyring } = this.options;
    const data = JSON.stringify(correctedData(addenda));
    const place = correctionPlace(bank, paymentOf(entry));
    const { changeCode } = addenda;
    try {
      const corrected = await keyring.seal(ownerOf.contact(entry.contactId), data, place);
      return {
        reference: entry.reference,
        type: 'corrected',
        correction: { changeCode, corrected },
      };
    } catch (error) {
      if (!(error instanceof KeyDestroyed)) throw error;
      // The contact was erased since: nothing may be kept of it. Others may wait for the same account.
      return isPrenote(entry.reference)
        ? {
            reference: entry.reference,
            type: 'corrected',
            correction: { changeCode, corrected: correctionNotKept },
          }
        : { reference, type: 'corrected' };
    }
  }
}

interface Prepared {
  readonly segments: readonly ArchiveSegment[];
  /** Of the entries that are corrected or returned, by reference. */
  readonly contacts: ReadonlyMap<string, string>;
  apply(client: pg.ClientBase): Promise<readonly AchReport[]>;
}

/** The reference of the payment that the entry is for. */
function paymentOf({ reference, paymentId }: KnownEntry): string {
  return isPrenote(reference) ? railReferenceOf(paymentId) : reference;
}

/** Never rejects because of the bytes. */
export async function contentOf(bytes: Uint8Array): Promise<Content> {
  const kind = kindOfAchFile(bytes);
  switch (kind) {
    case 'ack': {
      const { file, problem } = await parseAckFile(bytes);
      return file === null ? unreadable(nachaProblemText(problem)) : { kind, ack: file };
    }
    case 'nacha': {
      const parsed = await parseNachaFile(bytes, { skipsUnsupported: true });
      return parsed.file === null
        ? unreadable(nachaProblemText(parsed.problem))
        : { kind, file: parsed.file, skipped: parsed.skipped };
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

function* chunks<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += chunkMax)
    yield items.slice(start, start + chunkMax);
}
