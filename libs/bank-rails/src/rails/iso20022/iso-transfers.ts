/**
 * What isoBank knows of each transfer: the table iso_transfers. A row and the copy of its message are written
 * together, before the first byte is sent. So are an answer's effect and its copy. An acceptance is final and
 * replaces anything else; a rejection and a void replace what is open.
 *
 * Transfers that are under way at the same time share a transaction.
 */
import type { EntityType, RailRejection } from '@pis/domain';
import { GroupCommit, inTransaction, isDataError, textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import {
  isKeptAlready,
  keepingValues,
  partsMax,
  partsOf,
} from '../../connections/archive-table.js';
import { isPausedSql } from '../../connections/connection-pauses.js';
import type { FileArchive, SealedFile } from '../../connections/file-archive.js';
import { addSql, addWithCopiesSql, columns, settleSql } from './iso-transfer-statements.js';
import type { IsoRail, OriginalTransfer } from './messages.js';

export type IsoState = 'sending' | 'received' | 'held' | 'accepted' | 'rejected' | 'voided';

/** What messages about the transfer repeat, and whose data their copies hold. No personal data. */
export interface IsoTransferDetails {
  readonly rail: IsoRail;
  readonly paymentId: string;
  readonly originatorId: string;
  readonly originatorEntityType: EntityType;
  readonly contactId: string;
  readonly contactEntityType: EntityType;
  readonly createdAt: string;
  readonly transactionId: string | null;
  readonly settlementDate: string;
  readonly amountMinor: number;
  readonly currencyCode: string;
}

export interface IsoTransfer {
  readonly reference: string;
  readonly state: IsoState;
  /** Of an open transfer: the bank has rejected one of its messages. */
  readonly rejection: RailRejection | null;
  readonly details: IsoTransferDetails | null;
  readonly messageId: string | null;
  readonly instructionId: string | null;
  readonly uetr: string | null;
  readonly fileId: string | null;
  /** How often it may have been sent: counted before each time. */
  readonly sends: number;
  /** Absent before it is stored. */
  readonly recordedAt?: Date;
}

interface Row {
  readonly reference: string;
  readonly state: IsoState;
  readonly rejection: RailRejection | null;
  readonly details: IsoTransferDetails | null;
  readonly message_id: string | null;
  readonly instruction_id: string | null;
  readonly uetr: string | null;
  readonly file_id: string | null;
  readonly sends: number;
  readonly created_at: Date;
}

/** Rows that are deleted in one statement. */
const forgetMax = 1_000;

/** Rows in one statement: those of transfers that are under way at the same time. */
const batchMax = 200;
/** Of the copies in one transaction. One copy may be larger. */
const bytes = {
  batchMax: 4 * 1024 * 1024,
  of: ({ copy }: { readonly copy: SealedFile | null }) => copy?.sizeBytes ?? 0,
} as const;

interface Addition {
  readonly transfer: IsoTransfer;
  readonly copy: SealedFile | null;
}

interface Settlement {
  readonly reference: string;
  readonly state: Exclude<IsoState, 'sending'>;
  readonly rejection: RailRejection | null;
  /** As it was when the bank was asked. */
  readonly sends: number;
  /** Of the answer. */
  readonly copy: SealedFile | null;
}

export class IsoTransfers {
  private readonly additions: GroupCommit<Addition, boolean>;
  private readonly settlements: GroupCommit<Settlement, IsoTransfer | null>;

  constructor(
    private readonly pool: pg.Pool,
    private readonly connection: string,
    private readonly archive: Pick<FileArchive, 'keepAll'>,
  ) {
    const shared = { batchMax, bytes, isItemsFault: isDataError };
    this.additions = new GroupCommit<Addition, boolean>({
      ...shared,
      write: (additions) => this.writeAdditions(additions),
      keyOf: ({ transfer }) => transfer.reference,
    });
    this.settlements = new GroupCommit<Settlement, IsoTransfer | null>({
      ...shared,
      write: (settlements) => this.writeSettlements(settlements),
      keyOf: ({ reference }) => reference,
    });
  }

  async find(reference: string): Promise<IsoTransfer | null> {
    const { rows } = await this.pool.query<Row>({
      name: 'iso-transfers-find',
      text: `SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND reference = $2`,
      values: [this.connection, reference],
    });
    return rows[0] === undefined ? null : transferOf(rows[0]);
  }

  /** The transfer that a message is about. Null when it is none of ours, or when its ids belong to several. */
  async findOriginal(original: OriginalTransfer): Promise<IsoTransfer | null> {
    const { endToEndId, uetr } = original;
    const isNamed = endToEndId !== null || uetr !== null;
    const { rows } = await this.pool.query<Row>({
      name: 'iso-transfers-find-original',
      text: `SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND reference = $2
             UNION SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND uetr = $3
             UNION SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND instruction_id = $4
             UNION SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND message_id = $5
             LIMIT 2`,
      values: [
        this.connection,
        endToEndId,
        uetr,
        isNamed ? null : original.instructionId,
        isNamed ? null : transferMessageId(original),
      ],
    });
    const [row, other] = rows;
    if (row === undefined || other !== undefined) return null;
    const transfer = transferOf(row);
    return isAbout(original, transfer) ? transfer : null;
  }

  /**
   * @param copy of its message, kept with the row under the row's `fileId`
   * @returns false when the reference has a row already, or when it is to be sent and the connection is paused: then
   * nothing is kept
   */
  add(transfer: IsoTransfer, copy: SealedFile | null = null): Promise<boolean> {
    return this.additions.add({ transfer, copy });
  }

  /** The transfer, to be sent once more. Null when its outcome is known or the connection is paused: it must not be sent. */
  async noteSend(reference: string): Promise<IsoTransfer | null> {
    const { rows } = await this.pool.query<Row>({
      name: 'iso-transfers-note-send',
      text: `UPDATE iso_transfers SET sends = sends + 1
              WHERE connection = $1 AND reference = $2 AND state = 'sending'
                AND NOT (${isPausedSql('$1')}) RETURNING ${columns}`,
      values: [this.connection, reference],
    });
    return rows[0] === undefined ? null : transferOf(rows[0]);
  }

  /**
   * The transfer afterwards: an acceptance is final, and a rejection or a void gives way to it alone. A
   * rejection counts only if the transfer was not sent again since it was read. `copy` is kept in any case.
   */
  async settle(
    { reference, sends }: Pick<IsoTransfer, 'reference' | 'sends'>,
    state: Settlement['state'],
    { rejection = null, copy = null }: Partial<Pick<Settlement, 'rejection' | 'copy'>> = {},
  ): Promise<IsoTransfer | null> {
    const settled = await this.settlements.add({ reference, state, rejection, sends, copy });
    return settled ?? this.find(reference);
  }

  /** The next number of a message on that day, from 1. */
  async nextNumber(day: string): Promise<number> {
    const { rows } = await this.pool.query<{ last: number }>({
      name: 'iso-message-numbers-next',
      text: `INSERT INTO iso_message_numbers AS n (connection, day, last) VALUES ($1, $2, 1)
             ON CONFLICT ON CONSTRAINT iso_message_numbers_pkey DO UPDATE SET last = n.last + 1
             RETURNING last`,
      values: [this.connection, day],
    });
    return rows[0]?.last ?? 0;
  }

  /** Deletes rows that are older than this, some at a time, by the clocks of PostgreSQL and of this process. */
  async forget(olderThanMs: number, now: Date): Promise<void> {
    await this.pool.query(
      `DELETE FROM iso_transfers WHERE (connection, reference) IN (
         SELECT connection, reference FROM iso_transfers
          WHERE created_at < least(now(), $3::timestamptz) - $1::float8 * interval '1 millisecond' AND connection = $2
          ORDER BY created_at LIMIT ${forgetMax})`,
      [olderThanMs, this.connection, now],
    );
    await this.pool.query(
      `DELETE FROM iso_message_numbers
        WHERE connection = $2 AND day < least(now(), $3::timestamptz) - $1::float8 * interval '1 millisecond'`,
      [olderThanMs, this.connection, now],
    );
  }

  private async writeAdditions(additions: readonly Addition[]): Promise<readonly boolean[]> {
    const transfers = additions.map(({ transfer }) => transfer);
    const all = additions.flatMap(({ copy }) => copy ?? []);
    if (all.length === 0) return this.insert(this.pool, transfers);
    const written = fitOneStatement(all) ? await this.insertWithCopies(transfers, all) : null;
    if (written !== null) return written;
    return inTransaction(this.pool, async (client) => {
      const added = await this.insert(client, transfers);
      const withCopies = additions.flatMap(({ transfer, copy }, index) =>
        added[index] === true && copy !== null ? [{ transfer, copy }] : [],
      );
      if (withCopies.length === 0) return added;
      const copies = withCopies.map(({ copy }) => copy);
      const kept = await this.archive.keepAll(copies, client);
      for (const [index, { id, isNew }] of kept.entries())
        if (!isNew) await this.useCopy(client, withCopies[index]?.transfer.reference ?? '', id);
      return added;
    });
  }

  /** The same bytes were kept before, with a row that has been lost since. */
  private async useCopy(client: pg.ClientBase, reference: string, fileId: string): Promise<void> {
    await client.query(
      'UPDATE iso_transfers SET file_id = $3 WHERE connection = $1 AND reference = $2',
      [this.connection, reference, fileId],
    );
  }

  private async insert(
    on: pg.Pool | pg.ClientBase,
    transfers: readonly IsoTransfer[],
  ): Promise<readonly boolean[]> {
    const { rows } = await on.query<{ reference: string }>({
      name: 'iso-transfers-add',
      text: addSql,
      values: this.valuesOf(transfers),
    });
    const added = new Set(rows.map(({ reference }) => reference));
    return transfers.map(({ reference }) => added.has(reference));
  }

  /** Rows and copies in one statement. Null when a copy is kept already: then nothing was written. */
  private async insertWithCopies(
    transfers: readonly IsoTransfer[],
    copies: readonly SealedFile[],
  ): Promise<readonly boolean[] | null> {
    try {
      const { rows } = await this.pool.query<{ reference: string }>({
        name: 'iso-transfers-add-with-copies',
        text: addWithCopiesSql,
        values: [...this.valuesOf(transfers), ...keepingValues(copies, partsOf(copies))],
      });
      const added = new Set(rows.map(({ reference }) => reference));
      return transfers.map(({ reference }) => added.has(reference));
    } catch (error) {
      if (isKeptAlready(error)) return null;
      throw error;
    }
  }

  private valuesOf(transfers: readonly IsoTransfer[]): unknown[] {
    return [
      this.connection,
      textArray(transfers.map(({ reference }) => reference)),
      textArray(transfers.map(({ state }) => state)),
      textArray(transfers.map(({ rejection }) => jsonOf(rejection))),
      textArray(transfers.map(({ details }) => jsonOf(details))),
      textArray(transfers.map(({ messageId }) => messageId)),
      textArray(transfers.map(({ instructionId }) => instructionId)),
      textArray(transfers.map(({ uetr }) => uetr)),
      uuidArray(transfers.map(({ fileId }) => fileId)),
      textArray(transfers.map(({ sends }) => sends)),
    ];
  }

  /** Null for a row that keeps the state that it has. The copies are kept in the same statement. */
  private async writeSettlements(
    settlements: readonly Settlement[],
  ): Promise<readonly (IsoTransfer | null)[]> {
    const copies = settlements.flatMap(({ copy }) => copy ?? []);
    if (fitOneStatement(copies)) return this.update(this.pool, settlements, copies);
    return inTransaction(this.pool, async (client) => {
      const settled = await this.update(client, settlements, []);
      await this.archive.keepAll(copies, client);
      return settled;
    });
  }

  private async update(
    on: pg.Pool | pg.ClientBase,
    settlements: readonly Settlement[],
    copies: readonly SealedFile[],
  ): Promise<readonly (IsoTransfer | null)[]> {
    const { rows } = await on.query<Row>({
      name: 'iso-transfers-settle',
      text: settleSql,
      values: [
        this.connection,
        textArray(settlements.map(({ reference }) => reference)),
        textArray(settlements.map(({ state }) => state)),
        textArray(settlements.map(({ rejection }) => jsonOf(rejection))),
        textArray(settlements.map(({ sends }) => sends)),
        ...keepingValues(copies, partsOf(copies)),
      ],
    });
    const settled = new Map(rows.map((row) => [row.reference, transferOf(row)]));
    return settlements.map(({ reference }) => settled.get(reference) ?? null);
  }
}

function fitOneStatement(copies: readonly SealedFile[]): boolean {
  return partsOf(copies).length <= partsMax;
}

function jsonOf(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function transferOf(row: Row): IsoTransfer {
  const { reference, state, rejection, details, uetr, sends } = row;
  const { message_id: messageId, instruction_id: instructionId, file_id: fileId } = row;
  return {
    ...{ reference, state, rejection, details, uetr, messageId, instructionId, fileId, sends },
    recordedAt: row.created_at,
  };
}

/**
 * Whether a message names this transfer: by end-to-end id and UETR, which are the payment's forever, or by
 * the ids of the message where it gives neither. All that it gives must agree.
 */
export function isAbout(original: OriginalTransfer, transfer: IsoTransfer): boolean {
  const { endToEndId, uetr, instructionId } = original;
  const isNamed = endToEndId !== null || uetr !== null;
  const messageId = transferMessageId(original);
  const pairs = isNamed
    ? [
        [endToEndId, transfer.reference],
        [uetr, transfer.uetr],
      ]
    : [
        [instructionId, transfer.instructionId],
        [messageId, transfer.messageId],
      ];
  const given = pairs.filter(([named]) => named !== null);
  return given.length > 0 && given.every(([named, ours]) => named === ours);
}

/** The id of the transfer's own message. An answer to an inquiry may name the inquiry instead. */
function transferMessageId({ messageId, messageName }: OriginalTransfer): string | null {
  return messageName?.startsWith(transferName) === true ? messageId : null;
}

/** Whether it answers another message of ours about the transfer: an inquiry or a cancellation request. */
export function answersOtherMessage({ messageName }: OriginalTransfer): boolean {
  return messageName !== null && !messageName.startsWith(transferName);
}

const transferName = 'pacs.008';
