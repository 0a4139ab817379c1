/**
 * Payments in doubt that staff are to be told of. The rows are written by the reader of the log before its
 * position moves, so a crash loses none. A row exists once for each channel, payment and kind, so reading the
 * log again tells nobody twice.
 *
 * A digest is claimed by one executor, and the next one is not sent before the pause is over. An executor
 * that dies between sending and noting it leads to one repetition when the lease ends.
 */
import type { RecordedEvent } from '@pis/event-store';
import type pg from 'pg';

const noticeKinds = {
  PaymentFailedInFlight: 'in_flight',
  PaymentRejectedLate: 'rejected_late',
} as const;
/**
 * `held` and `unanswered` are the executor's own. Held: the bank has the payment, and names no time for it.
 * Unanswered: the bank has forgotten the transfer, so it is not asked any more.
 */
export type NoticeKind = (typeof noticeKinds)[keyof typeof noticeKinds] | 'held' | 'unanswered';

export interface Notice {
  readonly paymentId: string;
  readonly kind: NoticeKind;
  readonly at: Date;
}

/** What one digest is about. */
export interface Batch {
  /** The oldest ones. */
  readonly notices: readonly Notice[];
  /** How many there are in all, up to countMax. */
  readonly count: number;
  /** Of the last one. */
  readonly upTo: string;
}

/** Attempts in a row that failed. */
export interface StaffFailures {
  readonly email: number;
  readonly webhook: number;
}

const ofTransfer = /^(?:payment|collection)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** Older events are not told: the log is being read again from its beginning. */
const toldWithinMs = 30 * 24 * 3_600_000;
/** Longer, so that no row is deleted while its event could be read again and told. */
const keptMs = 2 * toldWithinMs;
const leaseMs = 60_000;
export const listedMax = 50;
const countMax = 10_000;
const pruneMax = 1_000;

export class StaffNotices {
  constructor(
    private readonly pool: pg.Pool,
    /** None is told of anything when it is empty. */
    private readonly channels: readonly string[],
  ) {}

  /** @throws connection errors */
  async note(events: readonly RecordedEvent[]): Promise<void> {
    if (this.channels.length === 0) return;
    const notices = events.flatMap(({ streamId, type, metadata: { at } }) => {
      const paymentId = ofTransfer.exec(streamId)?.[1];
      // A foreign event must not stop the reader.
      if (!Object.hasOwn(noticeKinds, type) || paymentId === undefined) return [];
      if (Number.isNaN(Date.parse(at))) return [];
      return [{ paymentId, kind: noticeKinds[type as keyof typeof noticeKinds], at }];
    });
    await this.add(notices);
  }

  /** Notes what no event says. Once for each payment and kind. @throws connection errors */
  async tell(paymentId: string, kind: 'held' | 'unanswered', atMs: number): Promise<void> {
    await this.add([{ paymentId, kind, at: new Date(atMs).toISOString() }]);
  }

  private async add(
    notices: readonly (Omit<Notice, 'at'> & { readonly at: string })[],
  ): Promise<void> {
    if (notices.length === 0 || this.channels.length === 0) return;
    await this.pool.query(noteSql, [
      notices.map(({ paymentId }) => paymentId),
      notices.map(({ kind }) => kind),
      notices.map(({ at }) => at),
      this.channels,
      toldWithinMs,
    ]);
  }

  /** Claims the next digest of a channel; null when there is nothing to tell, or it is not time yet. */
  async claim(channel: string): Promise<Batch | null> {
    const claimed = await this.pool.query(claimSql, [channel, leaseMs]);
    if (claimed.rowCount === 0) return null;
    const { rows } = await this.pool.query<Notice & { readonly arrival: string }>(
      `SELECT payment_id AS "paymentId", kind, at, arrival FROM rail_staff_notices
        WHERE channel = $1 AND told_at IS NULL ORDER BY arrival LIMIT $2`,
      [channel, countMax],
    );
    const last = rows.at(-1);
    if (last === undefined) return null;
    return { notices: rows.slice(0, listedMax), count: rows.length, upTo: last.arrival };
  }

  /**
   * The digest was sent: the next one not before this time.
   * @param again channels that are to tell it, too
   */
  async told(
    channel: string,
    { upTo }: Batch,
    pauseMs: number,
    again: readonly string[] = [],
  ): Promise<void> {
    await this.pool.query(toldSql, [channel, upTo, again]);
    await this.release(channel, pauseMs, 0);
    await this.pool.query(
      `DELETE FROM rail_staff_notices WHERE ctid IN (
         SELECT ctid FROM rail_staff_notices
          WHERE at < now() - $1 * interval '1 millisecond' LIMIT $2)`,
      [keptMs, pruneMax],
    );
  }

  /** It could not be sent. @returns how often in a row */
  async failed(channel: string, initialMs: number, maxMs: number): Promise<number> {
    const { rows } = await this.pool.query<{ failures: number }>(
      `UPDATE rail_staff_channels SET failures = failures + 1, leased_until = NULL,
              next_at = now() + least($3::float8, $2::float8 * power(2, least(failures, 30)))
                                * interval '1 millisecond'
        WHERE channel = $1 RETURNING failures`,
      [channel, initialMs, maxMs],
    );
    return rows[0]?.failures ?? 0;
  }

  /** Over the worst of these channels. Those that are not configured any more do not count. */
  async failures(channels: readonly string[]): Promise<StaffFailures> {
    const { rows } = await this.pool.query<StaffFailures>(
      `SELECT coalesce(max(failures) FILTER (WHERE channel <> 'webhook'), 0)::int AS email,
              coalesce(max(failures) FILTER (WHERE channel = 'webhook'), 0)::int AS webhook
         FROM rail_staff_channels WHERE channel = ANY ($1)`,
      [channels],
    );
    return rows[0] ?? { email: 0, webhook: 0 };
  }

  private async release(channel: string, pauseMs: number, failures: number): Promise<void> {
    await this.pool.query(
      `UPDATE rail_staff_channels SET failures = $3, leased_until = NULL,
              next_at = now() + $2::float8 * interval '1 millisecond'
        WHERE channel = $1`,
      [channel, pauseMs, failures],
    );
  }
}

const noteSql = `
  INSERT INTO rail_staff_notices (channel, payment_id, kind, at)
  SELECT c.name, n.payment_id, n.kind, n.at
    FROM unnest($1::uuid[], $2::text[], $3::timestamptz[])
           WITH ORDINALITY AS n (payment_id, kind, at, place)
   CROSS JOIN unnest($4::text[]) AS c (name)
   WHERE n.at > now() - $5::float8 * interval '1 millisecond'
   ORDER BY c.name, n.place
  ON CONFLICT DO NOTHING`;

const toldSql = `
  WITH told AS (
    UPDATE rail_staff_notices SET told_at = now()
     WHERE channel = $1 AND told_at IS NULL AND arrival <= $2
    RETURNING payment_id, kind, at, arrival)
  INSERT INTO rail_staff_notices (channel, payment_id, kind, at)
  SELECT c.name, told.payment_id, told.kind, told.at
    FROM told CROSS JOIN unnest($3::text[]) AS c (name)
   ORDER BY c.name, told.arrival
  ON CONFLICT DO NOTHING`;

const claimSql = `
  INSERT INTO rail_staff_channels AS c (channel, next_at, leased_until)
  SELECT $1::text, now(), now() + $2::float8 * interval '1 millisecond'
   WHERE EXISTS (SELECT FROM rail_staff_notices WHERE channel = $1 AND told_at IS NULL)
  ON CONFLICT (channel) DO UPDATE SET leased_until = excluded.leased_until
   WHERE c.next_at <= now() AND (c.leased_until IS NULL OR c.leased_until <= now())`;
