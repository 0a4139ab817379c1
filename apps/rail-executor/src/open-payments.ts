/**
 * Follows the event log and gives each payment and collection that is QUEUED, PROCESSING or FAILED_IN_FLIGHT a row in
 * rail_pending, due some time later. So a payment is found even if its message was parked, was lost or
 * never came, or if its row was lost. Rows of ended payments are deleted. Events are gathered for a moment:
 * most payments begin and end within it and cost nothing.
 *
 * It may read an event twice, and two executors may read the same events: an extra row does no harm. So it
 * starts over by itself when the log does not have the event that the stored position stands on, as after a
 * restore. That is checked at the start and after each lost connection.
 */
import { railReferenceOf } from '@pis/bank-rails';
import {
  isPaymentNote,
  type PaymentStatus,
  type PaymentTransition,
  statusAfter,
  streamNameOf,
  streamPrefixOf,
  transferOwners,
  unreachable,
} from '@pis/domain';
import {
  anchorOf,
  beginning,
  type EventStore,
  hasAnchor,
  type LogPage,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '@pis/event-store';
import { pause } from '@pis/postgres';
import type pg from 'pg';
import { type Banks, unknownConnection } from './banks.js';
import { endRows } from './pending-statements.js';
import type { StaffNotices } from './staff/staff-notices.js';

export interface OpenPaymentsOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly banks: Pick<Banks, 'nameForRail' | 'noticed'>;
  readonly notices: Pick<StaffNotices, 'note'>;
  /** Resolves once the log was checked. The signal aborts when the log lacks what the executor has read. */
  readonly sameLog?: (ending: AbortSignal) => Promise<AbortSignal>;
  /** Called when the connection to the log is lost, and when the log cannot be followed any more: it may have lost events. */
  readonly onLost?: () => void;
  readonly gatherMs?: number;
}

/**
 * Of the place in the log. Releases without collections follow fewer streams, and keep a place of their own
 * (`open-payments`): what they have passed over is read here. Streams of one more kind need a new name again.
 */
export const logReader = 'open-transfers';

const streamPrefixes = transferOwners.map(streamPrefixOf);
const pageMax = 1_000;
/** Events are gathered for this long, or until there are pageMax of them. */
const gatherDefaultMs = 1_000;
/** The pause after a full batch. It limits catching up to about 5,000 events a second. */
const batchPauseMs = 200;

/**
 * A payment is expected to have ended by then. Otherwise it is checked. A new collection has no message: its row starts
 * it, and is due at once.
 */
const expectedWithinMs = 60_000;
/**
 * A claim without a row is checked for its deadline after this. Of most such claims the end comes in one of
 * the next batches and deletes the row, so that they cost no read.
 */
const endsWithinMs = 10_000;

interface PlaceRow {
  readonly position: Position;
  readonly eventId: string | null;
  readonly streamId: string | null;
  readonly revision: number | null;
}

export class OpenPayments {
  constructor(private readonly options: OpenPaymentsOptions) {}

  /**
   * Follows the log until the signal aborts or the connection was lost and is back: then call it again.
   * @param onKept called with the position after each batch
   * @throws StoreUnavailable, connection errors of PostgreSQL
   */
  async follow(ending: AbortSignal, onKept: (position: Position) => void): Promise<void> {
    const { store, sameLog, gatherMs = gatherDefaultMs } = this.options;
    const logOfReader = (await sameLog?.(ending)) ?? new AbortController().signal;
    logOfReader.throwIfAborted();
    const stopping = new AbortController();
    const signal = AbortSignal.any([ending, logOfReader, stopping.signal]);
    const place = await this.verifiedPlace();
    const onConnection = this.reconnected(() => stopping.abort());
    const pages = store.subscribe({ ...place, streamPrefixes, pageMax, signal, onConnection });
    try {
      for await (const events of batches(pages, gatherMs, signal)) {
        const last = events.at(-1);
        if (last === undefined) continue;
        await this.keep(changesOf(events));
        await this.options.notices.note(events);
        await this.save(last);
        onKept(last.position);
        if (events.length >= pageMax) await pause(batchPauseMs, signal);
      }
    } catch (error) {
      this.options.onLost?.();
      throw error;
    } finally {
      stopping.abort();
    }
    if (!ending.aborted) logOfReader.throwIfAborted();
  }

  /** Calls back when the connection is back after a failure. */
  private reconnected(callBack: () => void): (failure: Error | null) => void {
    let isLost = false;
    return (failure) => {
      if (failure !== null && !isLost) this.options.onLost?.();
      if (failure === null && isLost) callBack();
      isLost = failure !== null;
    };
  }

  private async keep({ open, ended }: ReturnType<typeof changesOf>): Promise<void> {
    const { pool, banks } = this.options;
    if (open.length > 0)
      await pool.query({
        name: 'rail-open-payments',
        text: openSql,
        values: [
          open.map(({ paymentId }) => paymentId),
          open.map(({ reference }) => reference),
          open.map(({ status }) => status),
          open.map(({ dueInMs }) => dueInMs),
          open.map(({ connection, rail }) => {
            if (connection === null) return banks.nameForRail(rail);
            banks.noticed(connection);
            return connection;
          }),
          endsWithinMs,
        ],
      });
    if (ended.length > 0) await endRows(pool, ended);
  }

  /** The stored position, if the log has its event. Otherwise the beginning. */
  private async verifiedPlace(): Promise<Pick<SubscribeOptions, 'after' | 'afterEventId'>> {
    const { rows } = await this.options.pool.query<PlaceRow>({
      name: 'rail-log-place',
      text: `SELECT position, event_id AS "eventId", stream_id AS "streamId", revision
               FROM rail_log_place WHERE reader = $1`,
      values: [logReader],
    });
    const [place] = rows;
    if (place === undefined) return { after: beginning };
    if (await this.isInLog(place))
      return { after: place.position, afterEventId: place.eventId ?? undefined };
    await this.startOver(place.position);
    return { after: beginning };
  }

  /** The place of an older release has no event. It only shows a log that ends before it. */
  private async isInLog({ position, eventId, streamId, revision }: PlaceRow): Promise<boolean> {
    const { store } = this.options;
    if (eventId === null || streamId === null || revision === null)
      return (await store.lastPosition()) >= position;
    return hasAnchor(store, { position, eventId, streamId, revision });
  }

  /** Another executor may be ahead. */
  private async save(event: RecordedEvent): Promise<void> {
    const { position, eventId, streamId, revision } = anchorOf(event);
    await this.options.pool.query({
      name: 'rail-log-place-save',
      text: `INSERT INTO rail_log_place AS p
               (reader, position, event_id, stream_id, revision, updated_at)
             VALUES ($1, $2, $3, $4, $5, now())
             ON CONFLICT (reader) DO UPDATE
               SET position = excluded.position, event_id = excluded.event_id,
                 stream_id = excluded.stream_id, revision = excluded.revision, updated_at = now()
               WHERE p.position < excluded.position`,
      values: [logReader, position, eventId, streamId, revision],
    });
  }

  private async startOver(place: Position): Promise<void> {
    await this.options.pool.query(
      'DELETE FROM rail_log_place WHERE reader = $1 AND position = $2',
      [logReader, place],
    );
  }
}

/** The events that come within gatherMs of the first one, or pageMax of them and the rest of their page. */
async function* batches(
  pages: AsyncIterable<LogPage>,
  gatherMs: number,
  signal: AbortSignal,
): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
  const iterator = pages[Symbol.asyncIterator]();
  let next = requested(iterator);
  for (;;) {
    const events: RecordedEvent[] = [];
    let gathered: Promise<null> | null = null;
    while (events.length < pageMax) {
      const came = await (gathered === null ? next : Promise.race([next, gathered]));
      if (came === null) break;
      if (came.done === true) return;
      events.push(...came.value.events);
      if (events.length > 0) gathered ??= pause(gatherMs, signal).then(() => null);
      next = requested(iterator);
    }
    if (signal.aborted) return;
    yield events;
  }
}

/** Nobody may be waiting for the next page when it fails. Whoever asks for it later gets the failure. */
function requested(iterator: AsyncIterator<LogPage>): Promise<IteratorResult<LogPage>> {
  const next = iterator.next();
  next.catch(() => undefined);
  return next;
}

/**
 * A claim without its row is also checked for its deadline, however long the bank is unavailable. The others that have a row
 * are left out: a conflict would lock each of these rows for nothing.
 */
export const openSql = `
  INSERT INTO rail_pending AS p
    (payment_id, reference, stage, submitted_at, deadline_at, overdue_at, connection)
  SELECT t.payment_id, t.reference,
         CASE t.status WHEN 'FAILED_IN_FLIGHT' THEN 'in_flight' ELSE 'queued' END,
         now(), now() + t.due_in_ms * interval '1 millisecond',
         CASE t.status WHEN 'PROCESSING' THEN now() + $6 * interval '1 millisecond' END,
         t.connection
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::float8[], $5::text[])
           AS t (payment_id, reference, status, due_in_ms, connection)
   WHERE t.status = 'PROCESSING'
      OR t.payment_id NOT IN (SELECT payment_id FROM rail_pending WHERE payment_id = ANY ($1::uuid[]))
   ORDER BY t.payment_id
  ON CONFLICT (payment_id) DO UPDATE SET overdue_at = excluded.overdue_at
   WHERE p.stage = 'queued' AND p.overdue_at IS NULL AND excluded.overdue_at IS NOT NULL`;

interface OpenPayment {
  readonly paymentId: string;
  readonly reference: string;
  readonly status: 'QUEUED' | 'PROCESSING' | 'FAILED_IN_FLIGHT';
  /** Of the claim, if the event is one and names it. */
  readonly connection: string | null;
  /** '' when the event does not say it. */
  readonly rail: string;
  readonly dueInMs: number;
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** What to do for each payment, by the last change of its status in the page. */
export function changesOf(events: readonly RecordedEvent[]): {
  readonly open: readonly OpenPayment[];
  readonly ended: readonly string[];
} {
  const transitions = events.filter(({ type }) => !isPaymentNote(type));
  const last = new Map(transitions.map((event) => [event.streamId, event]));
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const open: OpenPayment[] = [];
  const ended: string[] = [];
  for (const event of last.values()) {
    const { category, id: paymentId = '' } = streamNameOf(event.streamId) ?? {};
    // Not a stream of ours. Such a name must not stop the reader.
    if (!uuid.test(paymentId)) continue;
    const status = statusOf(event.type);
    switch (status) {
      case 'QUEUED':
      case 'FAILED_IN_FLIGHT':
      case 'PROCESSING': {
        const { railReference, connection, paymentRail } = event.data;
        open.push({
          paymentId,
          reference: textIn(railReference) ?? railReferenceOf(paymentId),
          status,
          connection: textIn(connection),
          rail: textIn(paymentRail) ?? unknownConnection,
          dueInMs: category === 'collection' && status === 'QUEUED' ? 0 : expectedWithinMs,
        });
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
  return Object.hasOwn(statusAfter, type) ? statusAfter[type as PaymentTransition['type']] : null;
}
