/**
 * Compares statement files of the bank with what we sent and received: movements, transfers that are no movement yet,
 * and the rails' acknowledgements. All from one moment of the database, over all organizations or one. Findings come
 * one by one, so memory stays flat.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import {
  type Contradiction,
  type Finding,
  type FindingKind,
  findingKinds,
  type Period,
} from './findings.js';
import { loadStatements } from './statement-table.js';

export interface ReconcileOptions {
  readonly files: readonly string[];
  readonly organizationId: string | null;
  /** Of our movements that the files should have; the files' own period when null. */
  readonly from: string | null;
  readonly to: string | null;
  /** Days between our record and the bank's booking that are no finding. */
  readonly daysMax: number;
  /** In which the bank keeps its days. */
  readonly timeZone: string;
}

export interface Outcome {
  readonly entries: number;
  readonly foreign: number;
  readonly period: Period | null;
}

export interface Reporter {
  finding(finding: Finding): Promise<void>;
  contradiction(found: Contradiction): Promise<void>;
}

/** Rows in memory at a time. */
const pageMax = 1_000;

/** @throws CommandFailed for a file that is no statement */
export async function reconcile(
  pool: pg.Pool,
  options: ReconcileOptions,
  report: Reporter,
): Promise<Outcome> {
  return inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    const { period: covered, ...loaded } = await loadStatements(client, options.files, (found) =>
      report.contradiction(found),
    );
    const { organizationId, daysMax, timeZone } = options;
    const from = options.from ?? covered?.from ?? null;
    const to = options.to ?? covered?.to ?? null;
    const ofEntries = [organizationId, timeZone, daysMax, findingKinds];
    for await (const row of rowsOf(client, entriesSql, ofEntries))
      await report.finding(finding(row));
    if (from === null || to === null) return { ...loaded, period: null };
    const ofMovements = [organizationId, timeZone, from, to];
    for await (const row of rowsOf(client, missingSql, ofMovements))
      await report.finding(finding(row));
    return { ...loaded, period: { from, to } };
  });
}

async function* rowsOf(
  client: pg.ClientBase,
  sql: string,
  values: readonly unknown[],
): AsyncGenerator<FindingRow> {
  await client.query(`DECLARE reconcile_rows NO SCROLL CURSOR FOR ${sql}`, [...values]);
  for (;;) {
    const { rows } = await client.query<FindingRow>(`FETCH ${pageMax} FROM reconcile_rows`);
    yield* rows;
    if (rows.length < pageMax) break;
  }
  await client.query('CLOSE reconcile_rows');
}

interface FindingRow {
  readonly kind: FindingKind;
  readonly differs: readonly string[] | null;
  readonly is_return: boolean;
  readonly transfer_id: string | null;
  readonly owner: 'payment' | 'collection' | null;
  readonly organization_id: string | null;
  readonly originator_id: string | null;
  readonly our_reference: string | null;
  readonly our_rail: Finding['rail'];
  readonly our_side: 'credit' | 'debit' | null;
  readonly our_amount: string | null;
  readonly our_status: string | null;
  readonly our_code: string | null;
  readonly acknowledgement: string | null;
  readonly at: Date | null;
  /** Null where the files have no entry. */
  readonly file: string | null;
  readonly line: number;
  readonly account: string;
  readonly bank_reference: string | null;
  readonly reference: string | null;
  readonly trace_number: string | null;
  readonly rail: Finding['rail'];
  readonly side: 'credit' | 'debit';
  readonly amount_minor: string;
  readonly status: 'booked' | 'pending';
  readonly booked_on: string;
  readonly return_reason_code: string | null;
}

function finding(row: FindingRow): Finding {
  const { kind, transfer_id: id, owner, file, our_side: side } = row;
  return {
    kind,
    reference: row.our_reference ?? row.reference ?? row.trace_number ?? row.bank_reference,
    movement: row.is_return ? 'return' : 'transfer',
    rail: row.our_rail ?? row.rail,
    paymentId: owner === 'collection' ? null : id,
    collectionId: owner === 'collection' ? id : null,
    organizationId: row.organization_id,
    originatorId: row.originator_id,
    differs: row.differs ?? [],
    bank: file === null ? null : bankSide(row, file),
    ours:
      side === null
        ? null
        : {
            side,
            amount: Number(row.our_amount),
            status: row.our_status ?? 'UNKNOWN',
            acknowledgement: row.acknowledgement,
            at: row.at?.toISOString() ?? null,
            returnReasonCode: row.our_code,
          },
  };
}

function bankSide(row: FindingRow, file: string): Finding['bank'] {
  return {
    file,
    line: row.line,
    account: row.account,
    bankReference: row.bank_reference,
    traceNumber: row.trace_number,
    side: row.side,
    amount: Number(row.amount_minor),
    status: row.status,
    bookedOn: row.booked_on,
    returnReasonCode: row.return_reason_code,
  };
}

/**
 * Our transfers as the bank's account shows them. A payment moves the originator's account. A collection is a credit of
 * the operator's account and a debit of the originator's, and the bank may have either or both in its files.
 */
const oursSql = `
  SELECT t.transfer_id, t.owner, t.organization_id, t.originator_id, t.reference AS our_reference,
         t.rail AS our_rail, t.amount_minor AS sent_amount,
         coalesce(t.returned_amount_minor, t.amount_minor) AS returned_amount, t.completed_at, t.returned_at,
         CASE WHEN t.owner = 'collection' THEN 'credit' ELSE t.side END AS transfer_side,
         coalesce(p.status, CASE WHEN t.returned_at IS NOT NULL THEN 'RETURNED'
                                 WHEN t.completed_at IS NOT NULL THEN 'COMPLETED' ELSE 'OPEN' END) AS our_status,
         coalesce(a.status, i.state) AS acknowledgement, a.return_reason_code AS our_code
    FROM transfers t
    LEFT JOIN payments p ON p.payment_id = t.transfer_id AND p.organization_id = t.organization_id
    LEFT JOIN ach_entries a ON a.reference = t.reference
    -- Of a transfer that went over two connections, the one that has the money tells.
    LEFT JOIN (SELECT reference, (array_agg(state ORDER BY array_position(
                   ARRAY['accepted', 'held', 'received', 'sending', 'rejected'], state))
                   FILTER (WHERE state <> 'voided'))[1] AS state
                 FROM iso_transfers GROUP BY reference) i ON i.reference = t.reference`;

const opposite = (side: string) => `CASE ${side} WHEN 'credit' THEN 'debit' ELSE 'credit' END`;

const entriesSql = `
  WITH told AS (
    SELECT e.*, o.owner, o.organization_id, o.originator_id, o.our_reference, o.our_rail, o.sent_amount,
           coalesce(r.amount_minor, o.returned_amount) AS returned_amount, o.our_status, o.our_code,
           o.acknowledgement, o.completed_at, coalesce(r.at, o.returned_at) AS returned_at, o.transfer_side
      FROM statement_entries e LEFT JOIN (${oursSql}) o ON o.transfer_id = e.transfer_id
      LEFT JOIN transfer_returns r
        ON e.is_return AND r.transfer_id = e.transfer_id AND r.return_no = e.return_no
  ), ranked AS (
    SELECT told.*,
           CASE WHEN is_return THEN ${opposite('transfer_side')} ELSE transfer_side END AS our_side,
           CASE WHEN is_return THEN returned_amount ELSE sent_amount END AS our_amount,
           CASE WHEN is_return THEN returned_at ELSE completed_at END AS at,
           row_number() OVER (
             PARTITION BY transfer_id, is_return, return_no, status, CASE owner WHEN 'collection' THEN side END
             ORDER BY place) AS turn,
           bool_or(status = 'booked') OVER (
             PARTITION BY transfer_id, is_return, return_no, CASE owner WHEN 'collection' THEN side END) AS is_booked
      FROM told
  ), compared AS (
    SELECT ranked.*,
           array_remove(ARRAY[
             CASE WHEN amount_minor <> our_amount THEN 'amount' END,
             CASE WHEN owner = 'payment' AND side <> our_side THEN 'side' END,
             CASE WHEN at IS NOT NULL AND (abs(booked_on - (at AT TIME ZONE $2)::date) > $3
                         OR booked_on NOT BETWEEN period_from AND period_to) THEN 'date' END,
             CASE WHEN (status = 'booked') <> (at IS NOT NULL)
                    OR (status = 'booked' AND acknowledgement IN ('rejected', 'voided')) THEN 'status' END,
             CASE WHEN is_return AND return_reason_code <> our_code THEN 'returnReasonCode' END
           ], NULL) AS differences
      FROM ranked
  ), kinds AS (
    SELECT compared.*,
           CASE WHEN transfer_id IS NULL THEN 'missingHere'
                -- The files of an earlier day have it before it is booked.
                WHEN status = 'pending' AND is_booked THEN 'pending'
                WHEN turn > 1 THEN 'duplicates'
                WHEN status = 'pending' AND at IS NULL THEN 'pending'
                WHEN differences <> '{}' THEN 'differing'
                ELSE 'matched' END AS kind
      FROM compared
     WHERE $1::uuid IS NULL OR organization_id IS NULL OR organization_id = $1
  )
  SELECT kind, CASE kind WHEN 'differing' THEN differences END AS differs,
         is_return, transfer_id, owner, organization_id, originator_id, our_reference, our_rail,
         our_side, our_amount, our_status, CASE WHEN is_return THEN our_code END AS our_code,
         acknowledgement, at, file, line, account, bank_reference, reference, trace_number, rail, side,
         amount_minor, status, booked_on::text, return_reason_code
    FROM kinds
   ORDER BY array_position($4::text[], kind), place`;

/** Movements of the period, and transfers that the rail acknowledged in it, without an entry in any file. */
const missingSql = `
  WITH ours AS (
    SELECT coalesce(m.payment_id, m.collection_id) AS transfer_id, m.at, true AS is_movement,
           m.kind IN ('return', 'later_return', 'collection_return') AS is_return,
           CASE m.kind WHEN 'later_return' THEN m.amount_minor END AS later_amount,
           CASE m.kind WHEN 'later_return' THEN 1 + (
             SELECT count(*) FROM movements b
              WHERE b.payment_id = m.payment_id AND b.kind = 'later_return' AND b.position <= m.position)
             ELSE 1 END AS return_no
      FROM movements m
     WHERE m.at >= ($3::date::timestamp AT TIME ZONE $2) AND m.at < (($4::date + 1)::timestamp AT TIME ZONE $2)
     UNION ALL
    SELECT payment_id, submitted_at, false, false, NULL, 1 FROM ach_entries
     WHERE status IN ('accepted', 'returned') AND payment_id IS NOT NULL
       AND submitted_at >= ($3::date::timestamp AT TIME ZONE $2)
       AND submitted_at < (($4::date + 1)::timestamp AT TIME ZONE $2)
     UNION ALL
    SELECT (details ->> 'paymentId')::uuid, created_at, false, false, NULL, 1 FROM iso_transfers
     WHERE state = 'accepted' AND details IS NOT NULL
       AND created_at >= ($3::date::timestamp AT TIME ZONE $2)
       AND created_at < (($4::date + 1)::timestamp AT TIME ZONE $2)
  )
  SELECT 'missingAtBank' AS kind, ARRAY[]::text[] AS differs, w.is_return, o.transfer_id, o.owner,
         o.organization_id, o.originator_id, o.our_reference, o.our_rail,
         CASE WHEN w.is_return THEN ${opposite('o.transfer_side')} ELSE o.transfer_side END AS our_side,
         CASE WHEN w.is_return THEN coalesce(w.later_amount, o.returned_amount) ELSE o.sent_amount END AS our_amount,
         o.our_status, CASE WHEN w.is_return THEN o.our_code END AS our_code, o.acknowledgement,
         CASE WHEN w.is_movement THEN w.at END AS at, NULL AS file
    FROM ours w JOIN (${oursSql}) o ON o.transfer_id = w.transfer_id
   WHERE (w.is_movement OR o.completed_at IS NULL)
     AND ($1::uuid IS NULL OR o.organization_id = $1)
     AND NOT EXISTS (
       SELECT FROM statement_entries e
        WHERE e.transfer_id = w.transfer_id AND e.is_return = w.is_return AND e.return_no = w.return_no)
   ORDER BY w.at, w.transfer_id, w.return_no`;
