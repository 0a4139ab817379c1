/**
 * Movements as files of banks: one account for each originator. The totals come first in both formats, so movements
 * are read twice. They never change, so the same request gives the same bytes, and a file that was broken off begins
 * anew.
 */
import { createHash } from 'node:crypto';
import {
  type AccountWithEntries,
  type BankEntry,
  type EntryTotals,
  type StatementFile,
  writeBai2,
  writeCamt053,
} from '@pis/bank-statements';
import { type Movement, type MovementKind, movementPages, orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import type { ExportRecord } from '../export-table.js';
import type { Piece, PieceSource } from '../piece.js';
import { exportedMovements, movementsWithin } from './movements.js';

const pageMax = 2_000;
/** Of text that is handed over at once. */
const pieceChars = 256 * 1024;
const writers = { bai2: writeBai2, camt053: writeCamt053 } as const;

export function bankFileSource(pool: pg.Pool, format: keyof typeof writers): PieceSource {
  return {
    isResumable: false,
    count: (asked) => exportedMovements(pool).count(asked),
    pieces: (asked) => pieces(pool, format, asked),
  };
}

async function* pieces(
  pool: pg.Pool,
  format: keyof typeof writers,
  asked: ExportRecord,
): AsyncGenerator<Piece> {
  let written = 0;
  const accounts = accountsOf(pool, asked, () => (written += 1));
  let text = '';
  let given = 0;
  const pieceOf = (): Piece => {
    const piece = { text, rows: written - given, cursor: '' };
    [text, given] = ['', written];
    return piece;
  };
  for await (const line of writers[format](fileOf(asked), accounts)) {
    text += line;
    if (text.length >= pieceChars) yield pieceOf();
  }
  yield pieceOf();
}

function fileOf({ id, requestedAt }: ExportRecord): StatementFile {
  return {
    fileId: id.replaceAll('-', ''),
    createdAt: requestedAt,
    sender: 'PIS',
    receiver: 'ORGANIZATION',
  };
}

interface AccountRow {
  readonly originator_id: string;
  readonly first_at: Date;
  readonly credits: string;
  readonly credit_sum: string;
  readonly debits: string;
  readonly debit_sum: string;
}

/** Those with movements. Without any, the originator that was asked for, or an account of none. */
async function* accountsOf(
  pool: pg.Pool,
  asked: ExportRecord,
  onEntry: () => void,
): AsyncGenerator<AccountWithEntries> {
  const within = movementsWithin(asked);
  const { rows } = await orUnavailable(() =>
    pool.query<AccountRow>(
      `SELECT originator_id, min(at) AS first_at,
          count(*) FILTER (WHERE side = 'credit') AS credits,
          coalesce(sum(amount_minor) FILTER (WHERE side = 'credit'), 0) AS credit_sum,
          count(*) FILTER (WHERE side = 'debit') AS debits,
          coalesce(sum(amount_minor) FILTER (WHERE side = 'debit'), 0) AS debit_sum
        FROM movements WHERE organization_id = $1 AND ($2::uuid IS NULL OR originator_id = $2)
          AND ($3::timestamptz IS NULL OR at >= $3) AND ($4::timestamptz IS NULL OR at < $4)
          AND position <= $5
        GROUP BY originator_id ORDER BY originator_id`,
      [
        ...[within.organizationId, within.originatorId ?? null, within.from ?? null],
        ...[within.to ?? null, within.through],
      ],
    ),
  );
  if (rows.length === 0) {
    const from = asked.fromAt ?? asked.untilAt;
    yield {
      ...accountOf(asked, asked.originatorId ?? asked.organizationId, from),
      entries: none(),
    };
  }
  for (const row of rows) {
    const { originator_id: originatorId } = row;
    yield {
      ...accountOf(asked, originatorId, asked.fromAt ?? row.first_at),
      credits: totals(row.credits, row.credit_sum),
      debits: totals(row.debits, row.debit_sum),
      entries: entriesOf(pool, { ...within, originatorId }, onEntry),
    };
  }
}

const noTotals: EntryTotals = { count: 0, sumMinor: 0n };

/** The opening is zero: the balance of the account is the bank's, the file has what this service moved. */
function accountOf(asked: ExportRecord, originatorId: string, from: Date) {
  const to = asked.untilAt;
  return {
    accountId: originatorId.replaceAll('-', ''),
    accountName: null,
    statementId: createHash('sha256')
      .update(`${asked.id}/${originatorId}`)
      .digest('hex')
      .slice(0, 32),
    from: day(from < to ? from : to),
    to: day(to),
    openingMinor: 0n,
    credits: noTotals,
    debits: noTotals,
  };
}

function totals(count: string, sum: string): EntryTotals {
  return { count: Number(count), sumMinor: BigInt(sum) };
}

async function* entriesOf(
  pool: pg.Pool,
  within: Parameters<typeof movementPages>[1],
  onEntry: () => void,
): AsyncGenerator<BankEntry> {
  for await (const page of movementPages(pool, within, { limit: pageMax }))
    for (const movement of page) {
      onEntry();
      yield entryOf(movement);
    }
}

async function* none(): AsyncGenerator<BankEntry> {
  yield* await Promise.resolve<BankEntry[]>([]);
}

function entryOf(movement: Movement): BankEntry {
  return {
    bankReference: movement.movementId.replaceAll('-', ''),
    reference: identifierOf(movement.reference),
    traceNumber: null,
    side: movement.side,
    amountMinor: movement.amountMinor,
    status: 'booked',
    bookedOn: day(movement.at),
    rail: movement.rail,
    isReturn: returns.has(movement.kind),
    returnReasonCode: reasonOf(movement.returnReasonCode),
  };
}

const returns: ReadonlySet<MovementKind> = new Set(['return', 'later_return', 'collection_return']);

/** Without the characters that the formats do not take. */
function identifierOf(text: string | null): string | null {
  const kept = (text ?? '').replaceAll(/[^0-9A-Za-z.:_-]/g, '').replace(/^[^0-9A-Za-z]+/, '');
  return kept === '' ? null : kept.slice(0, identifierMax);
}

/** The formats take codes only, so a reason in other words is left out. */
function reasonOf(code: string | null): string | null {
  return code !== null && /^[0-9A-Z]{2,4}$/.test(code) ? code : null;
}

const identifierMax = 35;
/** The formats have no earlier days. */
const firstDay = '2000-01-01';

/** In UTC. */
function day(at: Date): string {
  const text = at.toISOString().slice(0, 10);
  return text < firstDay ? firstDay : text;
}
