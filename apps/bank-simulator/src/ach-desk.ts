/**
 * The ACH desk of the simulated bank: NACHA files come in; acknowledgements, returns and notifications of
 * change go out as files. A file and its acknowledgement are recorded in one transaction, so a file is taken
 * whole or not at all. The same file again is answered as a duplicate and executes nothing. An entry
 * executes once per trace number for as long as the bank remembers it.
 */
import { createHash } from 'node:crypto';
import { BankRefused } from '@pis/bank-rails';
import {
  type AckEntry,
  type AckFile,
  kindOfAchFile,
  type NachaBatch,
  type NachaEntry,
  type NachaFile,
  nachaProblemText,
  parseInquiryFile,
  parseNachaFile,
  transactionCodes,
  writeAckFile,
} from '@pis/bank-rails/ach';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import {
  achDetails,
  ackEntryOf,
  knownEntryOf,
  ackUpdates,
  type OutgoingFile,
  reportFiles,
} from './ach-answers.js';
import { type BankCore, firstReportInMs, Hints, reachable } from './bank-core.js';
import type { Order } from './ledger.js';
import { publishUntilNow } from './reports.js';

export interface DeskFile {
  readonly name: string;
  readonly sizeBytes: number;
}

/** Trace numbers of one inquiry that are answered. */
const inquiryEntriesMax = 10_000;
const endings = { ack: 'ack', returns: 'ret.ach', corrections: 'noc.ach' } as const;

export class AchDesk {
  private readonly hints = new Hints();

  constructor(private readonly core: BankCore) {}

  /**
   * Takes a file. Safe to repeat.
   * @throws BankRefused when another file had this name; BankUnavailable when the books cannot be reached
   */
  async receive(name: string, bytes: Uint8Array): Promise<void> {
    await reachable(() =>
      kindOfAchFile(bytes) === 'inquiry'
        ? this.answerInquiry(bytes)
        : this.takePayments(name, bytes),
    );
    this.hints.now();
  }

  /** The files for the bank's customer, by name. */
  files(max: number): Promise<readonly DeskFile[]> {
    return reachable(async () => {
      const { pool } = this.core;
      const nextInMs = await publishUntilNow(pool, 'ach', async (reports, client) =>
        this.send(client, await reportFiles(reports, new Date())),
      );
      this.hints.in(nextInMs);
      const { rows } = await pool.query<{ id: string; kind: OutgoingFile['kind']; size: number }>({
        name: 'bank-files-list',
        text: 'SELECT id, kind, length(bytes) AS size FROM bank_files ORDER BY id LIMIT $1',
        values: [max],
      });
      return rows.map(({ id, kind, size }) => ({ name: nameOf(id, kind), sizeBytes: size }));
    });
  }

  /** Null when there is no such file, or no more. */
  read(name: string): Promise<Uint8Array | null> {
    return reachable(async () => {
      const { rows } = await this.core.pool.query<{ bytes: Buffer }>({
        name: 'bank-files-read',
        text: 'SELECT bytes FROM bank_files WHERE id = $1',
        values: [idOf(name)],
      });
      return rows[0]?.bytes ?? null;
    });
  }

  async remove(name: string): Promise<void> {
    await reachable(() =>
      this.core.pool.query({
        name: 'bank-files-remove',
        text: 'DELETE FROM bank_files WHERE id = $1',
        values: [idOf(name)],
      }),
    );
  }

  onFile(listener: () => void): () => void {
    return this.hints.listen(listener);
  }

  close(): void {
    this.hints.close();
  }

  private async takePayments(name: string, bytes: Uint8Array): Promise<void> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { file, problem } = await parseNachaFile(bytes);
    const ack = { name, sha256, at: new Date().toISOString(), code: null, message: null } as const;
    const refused = (code: string, message: string): AckFile => ({
      ...ack,
      ...{ status: 'rejected', code, message, entries: [] },
    });
    let firstInMs: number | null = null;
    await inTransaction(this.core.pool, async (client) => {
      const isNew = await this.register(client, name, sha256);
      if (file === null) {
        await this.acknowledge(client, refused('FILE_FORMAT', nachaProblemText(problem)), 1);
        return;
      }
      const orders = ordersOf(this.core, file, { name, sha256 });
      if (isNew && new Set(orders.map(({ reference }) => reference)).size < orders.length) {
        const message = 'A trace number appears twice.';
        await this.acknowledge(client, refused('FILE_FORMAT', message), 1);
        return;
      }
      if (!isNew) {
        const entries = await this.knownEntries(client, orders, sha256);
        await this.acknowledge(client, { ...ack, status: 'duplicate', entries }, 1);
        return;
      }
      const posted = await this.core.ledger.postAll(client, orders);
      const entries = posted.flatMap((one) => ackEntryOf(one, sha256));
      const deliveries = Math.max(1, ...posted.map((one) => one.deliveries));
      await this.acknowledge(client, { ...ack, status: 'accepted', entries }, deliveries);
      firstInMs = firstReportInMs(orders.map(({ course }) => course));
    });
    this.hints.in(firstInMs);
  }

  /** Whether the bank sees these bytes for the first time. @throws BankRefused */
  private async register(client: pg.ClientBase, name: string, sha256: string): Promise<boolean> {
    const { rows } = await client.query<{ named: string | null; isNew: boolean }>({
      name: 'bank-file-received',
      text: `WITH received AS (
               INSERT INTO bank_files_received (sha256, name) VALUES ($1, $2)
               ON CONFLICT DO NOTHING RETURNING sha256
             )
             SELECT (SELECT sha256 FROM bank_files_received WHERE name = $2) AS named,
                    EXISTS (SELECT FROM received) AS "isNew"`,
      values: [sha256, name],
    });
    // As it was before: what the statement itself inserts is not visible to it.
    const { named = null, isNew = false } = rows[0] ?? {};
    if (named !== null && named !== sha256)
      throw new BankRefused(`the bank has another file of the name ${name}`);
    return isNew;
  }

  /** What the bank knows about the entries of a file that it has already. */
  private async knownEntries(
    client: pg.ClientBase,
    orders: readonly Order[],
    sha256: string,
  ): Promise<readonly AckEntry[]> {
    const known = await this.core.ledger.find(
      client,
      orders.map(({ reference }) => reference),
    );
    return known.map((posted) => knownEntryOf(posted, sha256));
  }

  private async answerInquiry(bytes: Uint8Array): Promise<void> {
    const { file } = await parseInquiryFile(bytes);
    // Nobody can be told: an unreadable inquiry names no file of the customer.
    if (file === null) return;
    const asked = file.traceNumbers.slice(0, inquiryEntriesMax);
    await inTransaction(this.core.pool, async (client) => {
      const known = await this.core.ledger.inquireAll(client, asked);
      await this.send(client, ackUpdates(known, new Date()));
    });
  }

  private acknowledge(client: pg.ClientBase, ack: AckFile, deliveries: number): Promise<void> {
    return this.send(client, [{ kind: 'ack', bytes: writeAckFile(ack), deliveries }]);
  }

  private async send(client: pg.ClientBase, files: readonly OutgoingFile[]): Promise<void> {
    for (const { kind, bytes, deliveries } of files)
      await client.query({
        name: 'bank-files-add',
        text: 'INSERT INTO bank_files (kind, bytes) SELECT $1, $2 FROM generate_series(1, $3::int)',
        values: [kind, bytes, deliveries],
      });
  }
}

/** Payments, and prenotes, which execute nothing. Returned returns are acknowledged and do nothing. */
function ordersOf(
  core: BankCore,
  file: NachaFile,
  from: { readonly name: string; readonly sha256: string },
): readonly Order[] {
  return file.batches.flatMap((batch) =>
    batch.entries.filter(isForward).map((entry) => orderOf(core, batch, entry, from)),
  );
}

function isForward({ transactionCode }: NachaEntry): boolean {
  return transactionCodes[transactionCode].purpose !== 'return';
}

function orderOf(
  core: BankCore,
  batch: NachaBatch,
  entry: NachaEntry,
  from: { readonly name: string; readonly sha256: string },
): Order {
  const { side } = transactionCodes[entry.transactionCode];
  const { amountMinor, accountNumber, receivingDfi, individualName } = entry;
  const rail = 'ACH' as const;
  const direction = side === 'debit' ? 'INBOUND' : 'OUTBOUND';
  const course = core.courseOf({
    ...{ rail, direction, amountMinor, accountNumber },
    ...{ routingNumber: receivingDfi, name: individualName },
  });
  return {
    ...{ reference: entry.traceNumber, channel: 'ach', paymentId: null, rail, direction },
    ...{ amountMinor, currencyCode: 'USD', accountLastFour: accountNumber.slice(-4), course },
    details: achDetails(batch, entry, from),
  };
}

function nameOf(id: string, kind: OutgoingFile['kind']): string {
  return `BANK-${id.padStart(12, '0')}.${endings[kind]}`;
}

function idOf(name: string): string | null {
  return /^BANK-0*(\d{1,12})\./.exec(name)?.[1] ?? null;
}
