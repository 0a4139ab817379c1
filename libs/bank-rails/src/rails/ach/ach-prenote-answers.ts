/**
 * What the bank says about prenotes, in the transaction that records it. The reports about entries come in, and reports
 * about the payments that wait go out in place of those about prenotes.
 */
import type pg from 'pg';
import type { BankCorrection, RailRejection } from '../../bank-connection.js';
import { railReferenceOf } from '../../rail-reference.js';
import type { AchReport } from './ach-feed.js';
import {
  changeRejection,
  erasedRejection,
  returnRejection,
  voidedRejection,
} from './ach-rejections.js';
import { rejectionText } from './ach-tables.js';

const prefix = 'prenote-';

/** Of the entry of a prenote. No payment has such a reference. */
export function prenoteReference(id: string): string {
  return prefix + id;
}

export function isPrenote(reference: string): boolean {
  return reference.startsWith(prefix);
}

/** The text of a correction that could not be kept, because the contact was erased. */
export const correctionNotKept = '';

interface Fate {
  readonly reference: string;
  readonly state: 'refused' | 'dropped';
  readonly rejection: RailRejection | null;
}

interface PrenoteRow {
  readonly reference: string;
  readonly payment_id: string | null;
  readonly standard_entry_class: string | null;
}

export async function withPrenoteAnswers(
  client: pg.ClientBase,
  bank: string,
  reports: readonly AchReport[],
): Promise<readonly AchReport[]> {
  const own = reports.filter(({ reference }) => isPrenote(reference));
  if (own.length === 0) return reports;
  const known = await prenotesOf(client, bank, own);
  const fates = own.flatMap((report) => fateOf(report, known.get(report.reference)));
  const confirmed = own.filter(({ type }) => type === 'confirmed');
  const accepted = await accept(client, confirmed);
  const ended = await end(client, fates);
  const waiting = new Map(
    (await waitsFor(client, [...accepted, ...ended])).map((reference) => [
      reference,
      { reference, type: 'prenote' } as AchReport,
    ]),
  );
  for (const { reference, correction } of own) {
    const paymentId = known.get(reference)?.payment_id ?? null;
    if (!isKept(correction) || paymentId === null) continue;
    const ofPayment = railReferenceOf(paymentId);
    waiting.set(ofPayment, { reference: ofPayment, type: 'prenote', correction });
  }
  return [...reports.filter(({ reference }) => !isPrenote(reference)), ...waiting.values()];
}

function isKept(correction: BankCorrection | null | undefined): correction is BankCorrection {
  return correction != null && correction.corrected !== correctionNotKept;
}

/** What ends the prenote. Nothing for an answer that lets it go on. */
function fateOf(
  { reference, type, returnReasonCode = null, rejection = null, correction }: AchReport,
  row: PrenoteRow | undefined,
): readonly Fate[] {
  const refused = (why: RailRejection): readonly Fate[] => [
    { reference, state: 'refused', rejection: why },
  ];
  switch (type) {
    case 'returned':
      return refused(returnRejection(returnReasonCode));
    case 'corrected': {
      const isBusiness = row?.standard_entry_class === 'CCD';
      return correction == null ? [] : refused(changeRejection(correction.changeCode, isBusiness));
    }
    case 'rejected':
      // It was not sent. Another contact with this account gets a prenote of its own.
      if (rejection === erasedRejection) return [{ reference, state: 'dropped', rejection: null }];
      return refused(rejection ?? voidedRejection);
    case 'confirmed':
    case 'held':
    case 'prenote':
    case 'unreadable':
      return [];
  }
}

async function prenotesOf(
  client: pg.ClientBase,
  bank: string,
  reports: readonly AchReport[],
): Promise<ReadonlyMap<string, PrenoteRow>> {
  const { rows } = await client.query<PrenoteRow>({
    name: 'ach-prenotes-answered',
    text: `SELECT p.reference, e.payment_id, e.standard_entry_class
             FROM ach_prenotes p JOIN ach_entries e ON e.reference = p.reference
            WHERE p.bank = $1 AND p.reference = ANY ($2::text[])`,
    values: [bank, reports.map(({ reference }) => reference)],
  });
  return new Map(rows.map((row) => [row.reference, row]));
}

/**
 * What the bank says of one prenote holds for its account, also when another one was sent since. Not when it refused
 * the one: then the other is for what was changed.
 */
const openOfAccount = `o.bank = p.bank AND o.account = p.account AND o.state = 'open' AND p.state <> 'refused'`;

/**
 * A prenote goes with its file. One that the bank kept back goes no earlier than it says.
 * @returns the prenotes whose time is known now
 */
async function accept(
  client: pg.ClientBase,
  confirmed: readonly AchReport[],
): Promise<readonly string[]> {
  if (confirmed.length === 0) return [];
  const { rows } = await client.query<{ reference: string }>({
    name: 'ach-prenotes-accept',
    text: `UPDATE ach_prenotes o SET received_at =
             CASE WHEN r.was_kept THEN now() ELSE coalesce(f.uploaded_at, now()) END
             FROM unnest($1::text[], $2::boolean[]) AS r (reference, was_kept)
             JOIN ach_prenotes p ON p.reference = r.reference
             LEFT JOIN ach_entries e ON e.reference = p.reference
             LEFT JOIN ach_files f ON f.id = e.file_id
            WHERE ${openOfAccount} AND o.received_at IS NULL
           RETURNING o.reference`,
    values: [
      confirmed.map(({ reference }) => reference),
      confirmed.map(({ wasKept }) => wasKept === true),
    ],
  });
  return rows.map(({ reference }) => reference);
}

async function end(client: pg.ClientBase, fates: readonly Fate[]): Promise<readonly string[]> {
  if (fates.length === 0) return [];
  const { rows } = await client.query<{ reference: string }>({
    name: 'ach-prenotes-end',
    text: `UPDATE ach_prenotes o SET state = r.state, rejection = r.rejection::jsonb
             FROM unnest($1::text[], $2::text[], $3::text[]) AS r (reference, state, rejection)
             JOIN ach_prenotes p ON p.reference = r.reference
            WHERE ${openOfAccount}
           RETURNING o.reference`,
    values: [
      fates.map(({ reference }) => reference),
      fates.map(({ state }) => state),
      fates.map(({ rejection }) => rejectionText(rejection)),
    ],
  });
  return rows.map(({ reference }) => reference);
}

/** The payments that wait for these. */
async function waitsFor(
  client: pg.ClientBase,
  prenotes: readonly string[],
): Promise<readonly string[]> {
  if (prenotes.length === 0) return [];
  const { rows } = await client.query<{ reference: string }>({
    name: 'ach-prenotes-waits',
    text: 'SELECT reference FROM ach_prenote_waits WHERE prenote = ANY ($1::text[]) ORDER BY reference',
    values: [prenotes],
  });
  return rows.map(({ reference }) => reference);
}
