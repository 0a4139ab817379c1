/**
 * Prenotes: the first payment between a company and an account waits until an entry of zero dollars has checked the
 * account. The payment itself is not submitted until then. See docs/rails-ach.md.
 *
 *   prepare ─► ach_prenotes + its entry ─► file ─► accepted ─► its time is over ─► 'ready'
 *                                            └────► returned, rejected, corrected ─► 'error'
 *
 * What always holds: an account has at most one open prenote. The prenote, its entry and the payment that waits are
 * recorded in one transaction. A payment that waits for a prenote that failed fails, and a later one begins anew.
 */
import { randomUUID } from 'node:crypto';
import { type Keyring, ownerOf } from '@pis/keyring';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import type { RailRejection, Readiness, TransferInstruction } from '../../bank-connection.js';
import type { AchIdentity } from '../../connections/bank-config.js';
import {
  batchTermsOf,
  codeOf,
  companyOf,
  entryClassOf,
  entryRejection,
  individualIdOf,
  nachaEntryOf,
  receiverOf,
} from './ach-entry.js';
import { prenoteReference } from './ach-prenote-answers.js';
import type { AchSchedule } from './ach-schedule.js';
import { type AchEntryStatus, lockBank } from './ach-tables.js';
import { entryPlace, type EntryTerms, entryText, termsMac } from './ach-terms.js';
import { traceNumberOf } from './nacha-file.js';

export interface AchPrenotesOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly identity: AchIdentity;
  readonly schedule: AchSchedule;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** When the last look at the inbox began that left no file unread, on the same clock. */
  readonly inboxTakenInAtMs: () => number;
  /** A prenote waits for a file. */
  readonly onPrenote: () => void;
  /** The inbox is to be read. */
  readonly onInboxNeeded: () => void;
}

interface KnownPrenote {
  readonly reference: string;
  readonly state: 'open' | 'refused';
  readonly rejection: RailRejection | null;
  readonly received_at: Date | null;
  readonly used_at: Date | null;
  /** Of its entry; null when that was deleted for its age. */
  readonly entry: AchEntryStatus | null;
  readonly due_at: Date | null;
  readonly file: 'recorded' | 'uploaded' | 'acknowledged' | 'rejected' | 'unsendable' | null;
  readonly filed_at: Date | null;
  /** Whether the payment waits for it. */
  readonly is_awaited: boolean;
}

/** `used_at` of an account is exact to this time. */
const usedExactMs = 24 * 3_600_000;

export class AchPrenotes {
  constructor(private readonly options: AchPrenotesOptions) {}

  /** @throws connection errors of PostgreSQL, StoreUnavailable: nothing has changed */
  async readiness(order: TransferInstruction): Promise<Readiness> {
    const { bank, pool, clock } = this.options;
    if (await this.isSubmitted(order)) return { outcome: 'ready' };
    const account = this.accountOf(order);
    const { rows } = await pool.query<KnownPrenote>({
      name: 'ach-prenotes-known',
      text: knownSql,
      values: [bank, account, order.reference],
    });
    const refused = rows.find(({ state }) => state === 'refused');
    if (refused?.rejection != null) return { outcome: 'error', rejection: refused.rejection };
    const open = rows.find(({ state }) => state === 'open') ?? null;
    const isOver = open !== null && this.readyAtMs(open) <= clock();
    if (isOver && open.received_at !== null) return this.pass(order, open);
    return this.wait(order, account, open);
  }

  /**
   * Whether there is an entry of the payment: a log that was restored may not know. Then no prenote decides about the
   * payment. What became of the entry does, and a further submission says it.
   */
  private async isSubmitted({ reference }: TransferInstruction): Promise<boolean> {
    const { rowCount } = await this.options.pool.query({
      name: 'ach-prenotes-submitted',
      text: 'SELECT FROM ach_entries WHERE reference = $1',
      values: [reference],
    });
    return rowCount !== 0;
  }

  /** The time is over. No return must be in the inbox that was there by then. */
  private async pass({ reference }: TransferInstruction, open: KnownPrenote): Promise<Readiness> {
    const { pool, inboxTakenInAtMs, onInboxNeeded } = this.options;
    if (open.used_at === null && inboxTakenInAtMs() < this.readyAtMs(open)) {
      onInboxNeeded();
      return { outcome: 'wait', untilMs: null };
    }
    const isFresh = open.used_at !== null && Date.now() - open.used_at.getTime() < usedExactMs;
    if (isFresh && !open.is_awaited) return { outcome: 'ready' };
    const { rowCount } = await pool.query({
      name: 'ach-prenote-used',
      text: usedSql,
      values: [open.reference, reference],
    });
    // It was refused in this moment, and the payment is told why when it asks again.
    return rowCount === 0 ? { outcome: 'wait', untilMs: null } : { outcome: 'ready' };
  }

  /** Milliseconds since the epoch. An estimate until the bank has accepted the prenote. */
  private readyAtMs({ received_at: receivedAt, filed_at: filedAt, due_at: dueAt }: KnownPrenote) {
    const { schedule, clock } = this.options;
    const sentAtMs = (receivedAt ?? filedAt ?? dueAt)?.getTime() ?? clock();
    return schedule.liveFrom(sentAtMs);
  }

  /** Never to be answered: it is in no file any more, or the bank has said nothing for a second such time. */
  private isLost({ received_at: receivedAt, entry, file, filed_at: filedAt }: KnownPrenote) {
    if (receivedAt !== null || entry === 'waiting' || file === 'recorded') return false;
    if (entry !== 'filed' || file === 'unsendable' || filedAt === null) return true;
    const { liveFrom } = this.options.schedule;
    return liveFrom(liveFrom(filedAt.getTime())) <= this.options.clock();
  }

  private async wait(
    order: TransferInstruction,
    account: string,
    open: KnownPrenote | null,
  ): Promise<Readiness> {
    const { pool, bank, clock, schedule } = this.options;
    const lost = open !== null && this.isLost(open) ? open : null;
    const isNeeded = open === null || lost !== null;
    const fresh = isNeeded ? await this.prenoteFor(order) : null;
    if (fresh !== null && 'failureCode' in fresh) return { outcome: 'error', rejection: fresh };
    const estimateMs = this.readyAtMs(open ?? unknownPrenote);
    const knownMs = estimateMs > clock() ? estimateMs : schedule.liveFrom(clock());
    const untilMs = fresh === null ? knownMs : schedule.liveFrom(fresh.dueAtMs);
    const isAwaited = await inTransaction(pool, async (client) => {
      if (lost !== null && !(await this.drop(client, lost.reference))) return false;
      if (fresh !== null) await this.begin(client, fresh, account);
      // The row stays open until the wait is visible, so whoever refuses it sees who waits.
      const { rows } = await client.query<{ reference: string }>({
        name: 'ach-prenote-open',
        text: `SELECT reference FROM ach_prenotes
                WHERE bank = $1 AND account = $2 AND state = 'open' FOR SHARE`,
        values: [bank, account],
      });
      const [prenote] = rows;
      if (prenote === undefined) return false;
      await client.query({
        name: 'ach-prenote-wait',
        text: `INSERT INTO ach_prenote_waits AS w (reference, bank, prenote, until) VALUES ($1, $2, $3, $4)
               ON CONFLICT (reference) DO UPDATE SET prenote = excluded.prenote, until = excluded.until`,
        values: [order.reference, bank, prenote.reference, new Date(untilMs)],
      });
      return true;
    });
    if (fresh !== null) this.options.onPrenote();
    return { outcome: 'wait', untilMs: isAwaited ? untilMs : null };
  }

  /**
   * Under the lock of the bank's row: what the bank says meanwhile is about the next prenote of the account, too.
   * @returns false when it was answered or replaced in this moment: the payment is told when it asks again
   */
  private async drop(client: pg.ClientBase, reference: string): Promise<boolean> {
    await lockBank(client, this.options.bank);
    const { rowCount } = await client.query(
      `UPDATE ach_prenotes SET state = 'dropped'
        WHERE reference = $1 AND state = 'open' AND received_at IS NULL`,
      [reference],
    );
    return rowCount === 1;
  }

  /** Nothing when another payment was faster. */
  private async begin(client: pg.ClientBase, prenote: Prenote, account: string): Promise<void> {
    const { bank } = this.options;
    const { reference, terms } = prenote;
    const { rowCount } = await client.query({
      name: 'ach-prenote-begin',
      text: `INSERT INTO ach_prenotes (reference, bank, account, created_at) VALUES ($1, $2, $3, now())
             ON CONFLICT (bank, account) WHERE state = 'open' DO NOTHING`,
      values: [reference, bank, account],
    });
    if (rowCount === 0) return;
    await client.query({
      name: 'ach-prenote-entry',
      text: `INSERT INTO ach_entries (reference, bank, status, payment_id, organization_id, originator_id,
               contact_id, direction, amount_minor, terms_mac, standard_entry_class, transaction_code, service,
               sealed_receiver, individual_id, due_at, submitted_at, submissions)
             VALUES ($1, $2, 'waiting', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, now(), 1)`,
      values: [
        ...[reference, bank, terms.paymentId, terms.organizationId, terms.originatorId],
        ...[terms.contactId, terms.direction, terms.amountMinor, prenote.termsMac],
        ...[terms.standardEntryClass, terms.transactionCode, terms.service],
        ...[prenote.sealedReceiver, terms.individualId, new Date(prenote.dueAtMs)],
      ],
    });
  }

  /** The entry that checks the account of a payment: as the payment's, without its amount and its note. */
  private async prenoteFor(order: TransferInstruction): Promise<Prenote | RailRejection> {
    const { bank, keyring, identity, schedule, clock } = this.options;
    const { paymentId, organizationId, originatorId, contactId, direction } = order;
    const { subType } = order.contactAccount;
    const reference = prenoteReference(randomUUID());
    const terms: EntryTerms = {
      ...{ paymentId, organizationId, originatorId, contactId, direction, amountMinor: 0 },
      standardEntryClass: entryClassOf(identity, order.contactEntityType, direction),
      transactionCode: codeOf('prenote', direction, subType),
      service: 'standard',
      individualId: individualIdOf(reference),
      isReinitiation: false,
    };
    const receiver = { ...receiverOf(order), note: null };
    const batch = batchTermsOf(identity, schedule.settlement('standard', clock()), terms);
    const entry = nachaEntryOf(receiver, { ...terms, traceNumber: traceNumberOf(batch.odfi, 1) });
    const rejection = entryRejection(identity, { batch, entry });
    if (rejection !== null) return rejection;
    const owner = ownerOf.contact(contactId);
    const text = entryText(receiver, terms);
    return {
      ...{ reference, terms },
      termsMac: termsMac(keyring, terms, { ...receiver, subType }),
      sealedReceiver: await keyring.seal(owner, text, entryPlace(bank, reference)),
      dueAtMs: schedule.buildAt('standard', clock()),
    };
  }

  /** What a prenote proves something about. No number can be read from it. */
  private accountOf({ organizationId, direction, contactAccount }: TransferInstruction): string {
    const { keyring, identity } = this.options;
    const { achRoutingNumber, achAccountNumber, subType } = contactAccount;
    const text = JSON.stringify([
      ...[organizationId.toLowerCase(), companyOf(identity, organizationId).id, direction],
      ...[achRoutingNumber, achAccountNumber, subType],
    ]);
    return keyring.mac('ach-prenote', text);
  }
}

interface Prenote {
  readonly reference: string;
  readonly terms: EntryTerms;
  readonly termsMac: string;
  readonly sealedReceiver: string;
  readonly dueAtMs: number;
}

const unknownPrenote: KnownPrenote = {
  ...{ reference: '', state: 'open', rejection: null, received_at: null, used_at: null },
  ...{ entry: null, due_at: null, file: null, filed_at: null, is_awaited: false },
};

const knownSql = `
  SELECT p.reference, p.state, p.rejection, p.received_at, p.used_at, e.status AS entry, e.due_at,
         f.status AS file, f.created_at AS filed_at, w.prenote IS NOT DISTINCT FROM p.reference AS is_awaited
    FROM (SELECT reference FROM ach_prenotes WHERE bank = $1 AND account = $2 AND state = 'open'
          UNION SELECT prenote FROM ach_prenote_waits WHERE reference = $3) known
    JOIN ach_prenotes p ON p.reference = known.reference AND p.bank = $1 AND p.state <> 'dropped'
    LEFT JOIN ach_prenote_waits w ON w.reference = $3
    LEFT JOIN ach_entries e ON e.reference = p.reference
    LEFT JOIN ach_files f ON f.id = e.file_id`;

/**
 * IS NOT FALSE: the planner must not search the index of all open prenotes for one of them. Exported for the test of
 * its plan.
 */
export const usedSql = `
  WITH used AS (
    UPDATE ach_prenotes SET used_at = now()
     WHERE reference = $1 AND (state = 'open') IS NOT FALSE RETURNING 1
  ), waited AS (
    DELETE FROM ach_prenote_waits WHERE reference = $2 AND EXISTS (SELECT FROM used)
  )
  SELECT FROM used`;
