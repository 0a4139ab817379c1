/**
 * What isoBank knows of each transfer: the table iso_transfers. A row is written before the first byte is
 * sent. An acceptance is final and replaces anything else; a rejection and a void replace what is open.
 */
import type { EntityType, RailRejection } from '@pis/domain';
import type pg from 'pg';
import type { IsoAgent, IsoRail, OriginalTransfer } from './messages.js';

export const isoStates = ['sending', 'received', 'held', 'accepted', 'rejected', 'voided'] as const;
export type IsoState = (typeof isoStates)[number];

/** What messages about the transfer repeat, and whose data their copies hold. */
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
  readonly instructedAgent: IsoAgent;
}

export interface IsoTransfer {
  readonly reference: string;
  readonly state: IsoState;
  readonly rejection: RailRejection | null;
  readonly details: IsoTransferDetails | null;
  readonly messageId: string | null;
  readonly instructionId: string | null;
  readonly uetr: string | null;
  readonly fileId: string | null;
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
}

const columns = 'reference, state, rejection, details, message_id, instruction_id, uetr, file_id';

/** Rows that are deleted in one statement. */
const forgetMax = 1_000;

export class IsoTransfers {
  constructor(
    private readonly pool: pg.Pool,
    private readonly connection: string,
  ) {}

  async find(reference: string): Promise<IsoTransfer | null> {
    const { rows } = await this.pool.query<Row>({
      name: 'iso-transfers-find',
      text: `SELECT ${columns} FROM iso_transfers WHERE connection = $1 AND reference = $2`,
      values: [this.connection, reference],
    });
    return rows[0] === undefined ? null : transferOf(rows[0]);
  }

  /**
   * The transfer that a message is about: by end-to-end id and UETR, which are the payment's for ever, or by
   * the ids of the message where it gives neither. Null when it is none of ours, or when its ids belong to
   * different transfers.
   */
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
    const agrees =
      (endToEndId === null || row.reference === endToEndId) &&
      (uetr === null || row.uetr === null || row.uetr === uetr);
    return agrees ? transferOf(row) : null;
  }

  /** @returns false when the reference has a row already */
  async add(transfer: IsoTransfer, on: pg.ClientBase | pg.Pool = this.pool): Promise<boolean> {
    const { rowCount } = await on.query({
      name: 'iso-transfers-add',
      text: `INSERT INTO iso_transfers
               (connection, reference, state, rejection, details, message_id, instruction_id, uetr,
                file_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT ON CONSTRAINT iso_transfers_pkey DO NOTHING`,
      values: [
        this.connection,
        transfer.reference,
        transfer.state,
        transfer.rejection === null ? null : JSON.stringify(transfer.rejection),
        transfer.details === null ? null : JSON.stringify(transfer.details),
        transfer.messageId,
        transfer.instructionId,
        transfer.uetr,
        transfer.fileId,
      ],
    });
    return rowCount === 1;
  }

  /** The transfer afterwards: an acceptance is final, and a rejection or a void gives way to it alone. */
  async settle(
    reference: string,
    state: Exclude<IsoState, 'sending'>,
    rejection: RailRejection | null = null,
  ): Promise<IsoTransfer | null> {
    const { rows } = await this.pool.query<Row>({
      name: 'iso-transfers-settle',
      text: `UPDATE iso_transfers SET state = $3, rejection = $4
              WHERE connection = $1 AND reference = $2
                AND (state IN ('sending', 'received', 'held')
                     OR ($3 = 'accepted' AND state <> 'accepted'))
             RETURNING ${columns}`,
      values: [
        this.connection,
        reference,
        state,
        rejection === null ? null : JSON.stringify(rejection),
      ],
    });
    return rows[0] === undefined ? this.find(reference) : transferOf(rows[0]);
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

  /** Deletes rows that are older than this, some at a time. */
  async forget(olderThanMs: number): Promise<void> {
    await this.pool.query(
      `DELETE FROM iso_transfers WHERE (connection, reference) IN (
         SELECT connection, reference FROM iso_transfers
          WHERE created_at < now() - $1::float8 * interval '1 millisecond' AND connection = $2
          ORDER BY created_at LIMIT ${forgetMax})`,
      [olderThanMs, this.connection],
    );
  }
}

function transferOf(row: Row): IsoTransfer {
  const { reference, state, rejection, details, uetr } = row;
  const { message_id: messageId, instruction_id: instructionId, file_id: fileId } = row;
  return { reference, state, rejection, details, uetr, messageId, instructionId, fileId };
}

/** The id of the transfer's own message. An answer to an inquiry may name the inquiry instead. */
function transferMessageId({ messageId, messageName }: OriginalTransfer): string | null {
  return messageName?.startsWith('pacs.008') === true ? messageId : null;
}
