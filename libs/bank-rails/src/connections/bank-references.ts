/** What a bank knows a payment by, besides our reference. It needs no key. */
import type pg from 'pg';

export interface BankReferences {
  /** Of the ACH entry. Null before it is in a file, and for other rails. */
  readonly traceNumber: string | null;
  /** Of the ISO 20022 message. Null for ACH. */
  readonly messageId: string | null;
  readonly instructionId: string | null;
  /** Unique end-to-end transaction reference. */
  readonly uetr: string | null;
}

const none: BankReferences = {
  traceNumber: null,
  messageId: null,
  instructionId: null,
  uetr: null,
};

/** @param connection of the claim: null for one of an older release, and then only ACH is searched */
export async function bankReferencesOf(
  pool: pg.Pool,
  reference: string,
  connection: string | null,
): Promise<BankReferences> {
  const { rows } = await pool.query<BankReferences>({
    name: 'pis_bank_references',
    text: `SELECT trace_number AS "traceNumber", NULL AS "messageId", NULL AS "instructionId",
        NULL AS uetr
      FROM ach_entries WHERE reference = $1
      UNION ALL
      SELECT NULL, message_id, instruction_id, uetr
      FROM iso_transfers WHERE connection = $2 AND reference = $1
      LIMIT 1`,
    values: [reference, connection],
  });
  return rows[0] ?? none;
}
