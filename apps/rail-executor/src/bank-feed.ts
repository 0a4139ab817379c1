/**
 * Records what the bank reports. The checkpoint moves after the appends, so a crash repeats
 * notifications and never skips one; recording one again changes nothing.
 *
 * A return proves that the bank had accepted the transfer. When it is here before COMPLETED is
 * recorded (the executor died in between, or is about to), both facts are appended together: waiting
 * for the other one could wait for ever.
 */
import {
  type BankConnection,
  type BankNotification,
  BankUnavailable,
  feedBeginning,
  notificationsMax,
  paymentIdOfRailReference,
} from '@pis/bank-rails';
import type { Payment, PaymentCommand } from '@pis/domain';
import { StoreUnavailable } from '@pis/event-store';
import { isTransient } from '@pis/messaging';
import { inTransaction, type Logger } from '@pis/service-kit';
import type pg from 'pg';
import { PaymentMissing, type PaymentStream } from './payment-stream.js';

export interface BankFeedOptions {
  readonly payments: PaymentStream;
  readonly bank: BankConnection;
  readonly pool: pg.Pool;
  readonly logger: Logger;
}

const feedName = 'bank';
const pageMax = 200;
/** Pages of what is not recorded yet that are looked through at a time. */
const unrecordedPagesMax = 20;
/** A notification that cannot be recorded for a reason of its own is set aside after so many tries. */
const attemptsMax = 5;
/** One reader at a time; any constant that no other advisory lock uses: 'feed' in ASCII. */
const readerLock = 0x66656564;

/** It fits no payment or no status: for staff to look at. */
class Unmatched extends Error {
  override readonly name = 'Unmatched';
}

type Result =
  | { readonly outcome: 'recorded'; readonly paymentId: string }
  | { readonly outcome: 'unmatched'; readonly reason: string }
  | { readonly outcome: 'failed'; readonly error: unknown };

export class BankFeed {
  /** Failed tries of the notifications that hold up the checkpoint, by sequence. */
  private readonly attempts = new Map<string, number>();

  constructor(private readonly options: BankFeedOptions) {}

  /**
   * One page. 0 when there may be more at once, null when not.
   * @throws BankUnavailable, StoreUnavailable, connection errors: what was recorded before is kept
   */
  async round(): Promise<number | null> {
    const next = await inTransaction(this.options.pool, (client) => this.page(client));
    if (next.failure !== undefined) throw next.failure;
    return next.more ? 0 : null;
  }

  /**
   * Tells of a transfer whether the bank has reported something that is not recorded yet. Of every one
   * that it may have, when more waits than is looked through.
   * @throws BankUnavailable, connection errors
   */
  async unrecorded(): Promise<(reference: string) => boolean> {
    const { bank, pool } = this.options;
    const references = new Set<string>();
    let after = await cursorIn(pool);
    for (let pages = 0; pages < unrecordedPagesMax; pages += 1) {
      const { notifications, cursor } = await bank.notifications({ after, max: notificationsMax });
      if (notifications.length === 0) return (reference) => references.has(reference);
      for (const { reference } of notifications) references.add(reference);
      after = cursor;
    }
    return () => true;
  }

  private async page(client: pg.PoolClient): Promise<{ more: boolean; failure?: unknown }> {
    const { rows } = await client.query<{ alone: boolean }>(
      'SELECT pg_try_advisory_xact_lock($1) AS alone',
      [readerLock],
    );
    if (rows[0]?.alone !== true) return { more: false };
    const after = await cursorIn(client);
    const page = await this.options.bank.notifications({ after, max: pageMax });
    if (page.notifications.length === 0) return { more: false };

    const results = await this.recordAll(page.notifications);
    const firstFailed = page.notifications.findIndex(
      (notification) => results.get(notification.sequence)?.outcome === 'failed',
    );
    const done = firstFailed < 0 ? page.notifications : page.notifications.slice(0, firstFailed);
    const cursor = firstFailed < 0 ? page.cursor : done.at(-1)?.sequence;
    if (cursor !== undefined) await this.save(client, done, results, cursor);
    const failed = results.get(page.notifications[firstFailed]?.sequence ?? '');
    if (failed?.outcome === 'failed') return { more: false, failure: failed.error };
    return { more: page.notifications.length === pageMax };
  }

  /** Payments side by side, the notifications of one in order. */
  private async recordAll(
    notifications: readonly BankNotification[],
  ): Promise<ReadonlyMap<string, Result>> {
    const results = new Map<string, Result>();
    const byReference = Map.groupBy(notifications, ({ reference }) => reference);
    await Promise.all(
      [...byReference.values()].map(async (ofOnePayment) => {
        for (const notification of ofOnePayment) {
          const result = await this.record(notification);
          results.set(notification.sequence, result);
          // A later one must not overtake it.
          if (result.outcome === 'failed') return;
        }
      }),
    );
    return results;
  }

  private async record(notification: BankNotification): Promise<Result> {
    const { sequence, reference } = notification;
    try {
      const paymentId = paymentIdOfRailReference(reference);
      if (paymentId === null) throw new Unmatched('no payment can have this reference');
      await this.options.payments.apply(paymentId, {}, (payment) =>
        commandsFor(notification, payment),
      );
      this.attempts.delete(sequence);
      return { outcome: 'recorded', paymentId };
    } catch (error) {
      if (error instanceof Unmatched || error instanceof PaymentMissing)
        return this.setAside(notification, error.message);
      if (isAway(error)) return { outcome: 'failed', error };
      const attempts = (this.attempts.get(sequence) ?? 0) + 1;
      this.attempts.set(sequence, attempts);
      if (attempts < attemptsMax) return { outcome: 'failed', error };
      return this.setAside(notification, error instanceof Error ? error.message : String(error));
    }
  }

  private setAside(notification: BankNotification, reason: string): Result {
    this.attempts.delete(notification.sequence);
    this.options.logger.error({ notification, reason }, 'a bank notification fits no payment');
    return { outcome: 'unmatched', reason };
  }

  private async save(
    client: pg.PoolClient,
    done: readonly BankNotification[],
    results: ReadonlyMap<string, Result>,
    cursor: string,
  ): Promise<void> {
    const settled: string[] = [];
    for (const notification of done) {
      const result = results.get(notification.sequence);
      if (result?.outcome === 'recorded') settled.push(result.paymentId);
      if (result?.outcome !== 'unmatched') continue;
      const { sequence, reference, type, returnReasonCode, at } = notification;
      await client.query(
        `INSERT INTO rail_unmatched_notifications
           (feed, sequence, reference, type, return_reason_code, at, reason, recorded_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, now()) ON CONFLICT (feed, sequence) DO NOTHING`,
        [
          feedName,
          sequence,
          keepable(reference),
          type,
          returnReasonCode,
          at,
          keepable(result.reason),
        ],
      );
    }
    await client.query('DELETE FROM rail_pending WHERE payment_id = ANY ($1::uuid[])', [settled]);
    await client.query(
      `INSERT INTO rail_feed_checkpoint (feed, cursor, updated_at) VALUES ($1, $2, now())
       ON CONFLICT (feed) DO UPDATE SET cursor = excluded.cursor, updated_at = excluded.updated_at`,
      [feedName, cursor],
    );
  }
}

async function cursorIn(client: pg.PoolClient | pg.Pool): Promise<string> {
  const { rows } = await client.query<{ cursor: string }>(
    'SELECT cursor FROM rail_feed_checkpoint WHERE feed = $1',
    [feedName],
  );
  return rows[0]?.cursor ?? feedBeginning;
}

/** As text that PostgreSQL takes: the bank may have written anything. */
function keepable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** Nothing is wrong with the notification: wait. */
function isAway(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable || error instanceof BankUnavailable || isTransient(error)
  );
}

/** What a notification means for the payment as it stands; nothing when it is known already. */
export function commandsFor(
  { type, reference, returnReasonCode }: BankNotification,
  { status, railReference }: Payment,
): readonly PaymentCommand[] {
  if (railReference !== reference)
    throw new Unmatched(`${status}, never submitted as ${reference}`);
  const at = new Date().toISOString();
  const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };
  const unsettled = status === 'PROCESSING' || status === 'FAILED_IN_FLIGHT';
  switch (type) {
    case 'confirmed':
      if (unsettled) return [complete];
      if (status === 'COMPLETED' || status === 'RETURNED') return [];
      break;
    case 'returned': {
      const giveBack: PaymentCommand = { type: 'ReturnPayment', at, data: { returnReasonCode } };
      if (unsettled) return [complete, giveBack];
      if (status === 'COMPLETED') return [giveBack];
      if (status === 'RETURNED') return [];
      break;
    }
    case 'rejected':
      if (status === 'FAILED') return [];
      if (status === 'PROCESSING') return [rejected(at)];
      break;
  }
  throw new Unmatched(`${type}, but the payment is ${status}`);
}

/** A data rejection belongs to the screening; after submission only an internal error fails a payment. */
function rejected(at: string): PaymentCommand {
  return {
    type: 'FailPayment',
    at,
    data: {
      failureCode: 'INTERNAL_ERROR',
      failureMessage:
        'The bank rejected the payment: wait a few minutes, then create a new payment.',
      failureReason: 'The bank rejected the transfer after it was submitted. No funds were moved.',
    },
  };
}
