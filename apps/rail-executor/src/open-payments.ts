/**
 * Follows the event log and gives each payment that is QUEUED, PROCESSING or FAILED_IN_FLIGHT a row in
 * rail_pending, due some time later. So a payment is found even if its message was parked, was lost or
 * never came, or if its row was lost. Rows of ended payments are deleted. Most payments begin and end
 * within a page and cost nothing.
 *
 * It may read a page twice, and two executors may read the same page: an extra row does no harm. So it
 * starts over by itself when the log is shorter than the part already read, as after a restore.
 */
import { railReferenceOf } from '@pis/bank-rails';
import { type PaymentEvent, type PaymentStatus, statusAfter, unreachable } from '@pis/domain';
import { beginning, type EventStore, type RecordedEvent } from '@pis/event-store';
import type pg from 'pg';
import { endSql } from './pending-transfers.js';

export interface OpenPaymentsOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
}

const reader = 'open-payments';

const streamPrefix = 'payment-';
const pageMax = 1_000;
/** The pause between two pages. It limits reading to 5,000 events a second. The reader catches up later. */
const pagePauseMs = 200;
/** A payment is expected to have ended by then. Otherwise it is checked. */
const expectedWithinMs = 60_000;

export class OpenPayments {
  /** How far the log was read behind the stored position, past events of other aggregates. */
  private read: { readonly place: string; readonly position: string } | null = null;

  constructor(private readonly options: OpenPaymentsOptions) {}

  /** One page. Returns the milliseconds until the next one. @throws StoreUnavailable, connection errors */
  async round(): Promise<number | null> {
    const { store } = this.options;
    const place = await this.place();
    const after = this.read?.place === place ? this.read.position : place;
    const page = await store.readLog({ after, streamPrefixes: [streamPrefix], pageMax });
    const last = page.events.at(-1);
    if (last === undefined && page.position === after) {
      // The position is that of an event: only a truncated log ends before it.
      if (place !== beginning && (await store.lastPosition()) < place) await this.startOver(place);
      return null;
    }
    await this.keep(changesOf(page.events));
    if (last !== undefined) await this.save(last.position);
    this.read = { place: last?.position ?? place, position: page.position };
    return pagePauseMs;
  }

  private async keep({ open, ended }: ReturnType<typeof changesOf>): Promise<void> {
    const { pool } = this.options;
    if (open.length > 0)
      await pool.query({
        name: 'rail-open-payments',
        text: openSql,
        values: [
          open.map(({ paymentId }) => paymentId),
          open.map(({ reference }) => reference),
          open.map(({ status }) => status),
          expectedWithinMs,
        ],
      });
    if (ended.length > 0)
      await pool.query({ name: 'rail-pending-done', text: endSql, values: [ended] });
  }

  private async place(): Promise<string> {
    const { rows } = await this.options.pool.query<{ position: string }>({
      name: 'rail-log-place',
      text: 'SELECT position FROM rail_log_place WHERE reader = $1',
      values: [reader],
    });
    return rows[0]?.position ?? beginning;
  }

  /** Another executor may be ahead. */
  private async save(position: string): Promise<void> {
    await this.options.pool.query({
      name: 'rail-log-place-save',
      text: `INSERT INTO rail_log_place AS p (reader, position, updated_at) VALUES ($1, $2, now())
             ON CONFLICT (reader) DO UPDATE SET position = excluded.position, updated_at = now()
               WHERE p.position < excluded.position`,
      values: [reader, position],
    });
  }

  private async startOver(place: string): Promise<void> {
    await this.options.pool.query(
      'DELETE FROM rail_log_place WHERE reader = $1 AND position = $2',
      [reader, place],
    );
  }
}

/** A claim without its row is also checked for its deadline, however long the bank is unavailable. */
const openSql = `
  INSERT INTO rail_pending AS p (payment_id, reference, stage, submitted_at, deadline_at, overdue_at)
  SELECT t.payment_id, t.reference,
         CASE t.status WHEN 'FAILED_IN_FLIGHT' THEN 'in_flight' ELSE 'queued' END,
         now(), now() + $4 * interval '1 millisecond',
         CASE t.status WHEN 'PROCESSING' THEN now() END
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS t (payment_id, reference, status)
   ORDER BY t.payment_id
  ON CONFLICT (payment_id) DO UPDATE SET overdue_at = excluded.overdue_at
   WHERE p.stage = 'queued' AND p.overdue_at IS NULL AND excluded.overdue_at IS NOT NULL`;

interface OpenPayment {
  readonly paymentId: string;
  readonly reference: string;
  readonly status: 'QUEUED' | 'PROCESSING' | 'FAILED_IN_FLIGHT';
}

/** What to do for each payment, by its last event in the page. */
export function changesOf(events: readonly RecordedEvent[]): {
  readonly open: readonly OpenPayment[];
  readonly ended: readonly string[];
} {
  const last = new Map(events.map((event) => [event.streamId, event]));
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const open: OpenPayment[] = [];
  const ended: string[] = [];
  for (const event of last.values()) {
    const paymentId = event.streamId.slice(streamPrefix.length);
    // Not a stream of ours. Such a name must not stop the reader.
    if (!uuid.test(paymentId)) continue;
    const status = statusOf(event.type);
    switch (status) {
      case 'QUEUED':
      case 'FAILED_IN_FLIGHT':
        open.push({ paymentId, reference: railReferenceOf(paymentId), status });
        break;
      case 'PROCESSING': {
        const { railReference } = event.data;
        const isText = typeof railReference === 'string';
        const reference = isText ? railReference : railReferenceOf(paymentId);
        open.push({ paymentId, reference, status });
        break;
      }
      case 'COMPLETED':
      case 'FAILED':
      case 'BLOCKED':
      case 'RETURNED':
      case 'CANCELED':
        ended.push(paymentId);
        break;
      case 'AWAITING_CONFIRMATION':
      // An event of a newer release: the payment's row decides when it is checked.
      case null:
        break;
      default:
        return unreachable(status);
    }
  }
  return { open, ended };
}

function statusOf(type: string): PaymentStatus | null {
  return Object.hasOwn(statusAfter, type) ? statusAfter[type as PaymentEvent['type']] : null;
}
