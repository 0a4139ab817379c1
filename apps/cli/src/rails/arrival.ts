/**
 * How long a transfer may still be on its way to its bank. Until then the bank may not have it and execute it
 * nevertheless, so nobody can find that it was never sent: see submission-rule.ts of bank-rails.
 */
import type { BankTerms } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';
import type pg from 'pg';
import { CommandFailed } from '../output.js';

/** Null when they are not known. @throws BanksFileInvalid */
export type TermsOf = (connection: string) => Promise<BankTerms | null>;

/** From PIS_BANKS_FILE. The executors have it, and a command that runs elsewhere may not. */
export function termsFrom(
  file: string | undefined,
  environment: 'sandbox' | 'production',
): TermsOf {
  return async (connection) => {
    if (file === undefined || file === '') return null;
    const { readBanksFile } = await import('@pis/bank-rails/banks');
    const { connections } = await readBanksFile(file, { environment });
    return connections.find(({ name }) => name === connection)?.terms ?? null;
  };
}

/** After the last note of a submission, when the terms of the connection are not known. */
const arrivalDefaultMs = 20 * 60_000;
/** For so long after a pause an executor may not know of it, and note one more submission. */
const pauseUnknownMs = 1_000;

/** @throws CommandFailed, with the time after which the bank can be asked */
export async function requireArrived(
  pool: pg.Pool,
  payment: Payment,
  { connection, reference }: SentTransfer,
  termsOf: TermsOf,
): Promise<void> {
  const { arrivalMaxMs } = await import('@pis/bank-rails');
  const { readPauses } = await import('@pis/bank-rails/connections');
  // Pauses the connection when the database was restored.
  await readPauses(pool, [connection]);
  if (await isInNoFile(pool, connection, reference)) return;
  const terms = await termsOf(connection);
  const { rows } = await pool.query<{ until: Date; is_over: boolean }>(
    `SELECT until, now() >= until AS is_over FROM (
       SELECT greatest(
         coalesce((SELECT last_submission_at FROM rail_pending WHERE payment_id = $1), $3),
         (SELECT paused_at FROM rail_connections WHERE connection = $2)
           + $4 * interval '1 millisecond'
       ) + $5::float8 * interval '1 millisecond' AS until) AS arrival`,
    [
      payment.paymentId,
      connection,
      // Without a row. The claim is before the first submission; FAILED_IN_FLIGHT is after the last one.
      new Date(payment.statusAt),
      pauseUnknownMs,
      terms === null ? arrivalDefaultMs : arrivalMaxMs(terms),
    ],
  );
  const [arrival] = rows;
  if (arrival?.is_over === true) return;
  throw new CommandFailed(
    `the payment may still reach the bank until ${arrival?.until.toISOString()}: ask the bank after that time, then settle the payment`,
  );
}

/** And is put into none: the connection is paused, and no newer table was lost. */
async function isInNoFile(pool: pg.Pool, bank: string, reference: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT FROM ach_entries e JOIN rail_connections c ON c.connection = e.bank
      WHERE e.reference = $1 AND e.bank = $2 AND e.file_id IS NULL AND e.status IN ('waiting', 'voided')
        AND NOT c.is_restored AND c.identity = rail_database_identity()
        AND c.paused_at + $3 * interval '1 millisecond' <= now()`,
    [reference, bank, pauseUnknownMs],
  );
  return rowCount === 1;
}

export interface SentTransfer {
  readonly connection: string;
  readonly reference: string;
}

/**
 * Whether the transfer goes over ACH files. Not always as the payment's rail says: a repeat of a payment that a restored log
 * lacks belongs to the connection that has the first one, whatever rail the repeat takes. Its record decides, then what the
 * connection is known for.
 */
export async function isOverAch(
  pool: pg.Pool,
  { connection, reference }: SentTransfer,
  { paymentRail }: Pick<Payment, 'paymentRail'>,
): Promise<boolean> {
  const { rows } = await pool.query<{ is_ach: boolean }>(
    `SELECT CASE
       WHEN EXISTS (SELECT FROM ach_entries WHERE reference = $1 AND bank = $2) THEN true
       WHEN EXISTS (SELECT FROM iso_transfers WHERE reference = $1 AND connection = $2) THEN false
       ELSE $3 OR EXISTS (SELECT FROM ach_banks WHERE bank = $2) END AS is_ach`,
    [reference, connection, paymentRail === 'ACH'],
  );
  return rows[0]?.is_ach === true;
}

/**
 * A name that was mistyped would bind the payment to a bank that does not exist.
 * @throws CommandFailed unless a connection of this name was used before
 */
export async function requireKnown(
  pool: pg.Pool,
  sent: SentTransfer,
  payment: Payment,
): Promise<void> {
  const isAch = await isOverAch(pool, sent, payment);
  const { rows } = await pool.query<{ connection: string }>(
    `SELECT connection FROM rail_connections
      WHERE NOT $1 OR connection IN (SELECT bank FROM ach_banks) ORDER BY connection`,
    [isAch],
  );
  const known = rows.map((row) => row.connection);
  if (known.includes(sent.connection)) return;
  throw new CommandFailed(
    `no connection${isAch ? ' for ACH' : ''} has the name ${JSON.stringify(sent.connection)}; known: ${known.join(', ') || 'none'}`,
  );
}
