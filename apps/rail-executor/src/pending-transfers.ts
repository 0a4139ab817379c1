/**
 * Durable timers: which payment must be looked at again, and when. The row is there before the message
 * that led to it is done, so that a crash loses none. A row too many does no harm: whoever is due finds
 * the payment's status in its stream. PostgreSQL's clock alone decides what is due.
 */
import type { PaymentRail } from '@pis/domain';
import type pg from 'pg';

export interface Transfer {
  readonly paymentId: string;
  readonly reference: string;
  readonly rail: PaymentRail;
}

export type Stage = 'screening' | 'submitted';

export interface DueTransfer {
  readonly paymentId: string;
  readonly reference: string;
  readonly stage: Stage;
}

/** Whatever the bank says: it is asked neither all the time nor never again. */
const screeningPauseMinMs = 20;
const screeningPauseMaxMs = 24 * 3_600_000;

export class PendingTransfers {
  private readonly listeners = new Set<() => void>();

  constructor(private readonly pool: pg.Pool) {}

  /** The bank still looks at it: ask again after this time. */
  async inReview(transfer: Transfer, checkAgainInMs: number): Promise<void> {
    const pauseMs = Math.min(Math.max(checkAgainInMs, screeningPauseMinMs), screeningPauseMaxMs);
    await this.put('screening', transfer, pauseMs);
  }

  /** Submitted, and to be confirmed within this time. A second submission does not move the deadline. */
  async submitted(transfer: Transfer, deadlineInMs: number): Promise<void> {
    await this.put('submitted', transfer, deadlineInMs);
  }

  /** What is due, the oldest first. */
  async due(max: number): Promise<readonly DueTransfer[]> {
    const { rows } = await this.pool.query<{
      payment_id: string;
      reference: string;
      stage: Stage;
    }>({
      name: 'rail-pending-due',
      text: `SELECT payment_id, reference, stage FROM rail_pending
              WHERE deadline_at <= now() ORDER BY deadline_at LIMIT $1`,
      values: [max],
    });
    return rows.map((row) => ({
      paymentId: row.payment_id,
      reference: row.reference,
      stage: row.stage,
    }));
  }

  /** Milliseconds until the next one is due, null when none waits. */
  async nextDueInMs(): Promise<number | null> {
    const { rows } = await this.pool.query<{ ms: number | null }>({
      name: 'rail-pending-next',
      // Null without rows. `greatest` must not be used here: it ignores null, and an empty table is due at 0.
      text: `SELECT (extract(epoch FROM min(deadline_at) - now()) * 1000)::float8 AS ms
               FROM rail_pending`,
    });
    const ms = rows[0]?.ms ?? null;
    return ms === null ? null : Math.max(0, Math.ceil(ms));
  }

  /** Not before this time. Never earlier than it is set to, nor when it has become one of another stage. */
  async postpone(paymentId: string, stage: Stage, byMs: number): Promise<void> {
    await this.pool.query(
      `UPDATE rail_pending
          SET deadline_at = greatest(deadline_at, now() + $3 * interval '1 millisecond')
        WHERE payment_id = $1 AND stage = $2`,
      [paymentId, stage, byMs],
    );
  }

  /** Seen to. A timer that has become one of another stage meanwhile stays. */
  async remove(paymentId: string, stage: Stage): Promise<void> {
    await this.pool.query('DELETE FROM rail_pending WHERE payment_id = $1 AND stage = $2', [
      paymentId,
      stage,
    ]);
  }

  /** Calls back when a timer was set; a hint for the loop in this process. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** 'screening' may become 'submitted' or be asked again later; 'submitted' stays as it is. */
  private async put(stage: Stage, transfer: Transfer, inMs: number): Promise<void> {
    await this.pool.query({
      name: 'rail-pending-put',
      text: `INSERT INTO rail_pending AS p
               (payment_id, reference, rail, stage, submitted_at, deadline_at)
             VALUES ($1, $2, $3, $4, now(), now() + $5 * interval '1 millisecond')
             ON CONFLICT (payment_id) DO UPDATE
               SET stage = excluded.stage, deadline_at = excluded.deadline_at
               WHERE p.stage = 'screening'`,
      values: [transfer.paymentId, transfer.reference, transfer.rail, stage, inMs],
    });
    for (const listener of this.listeners) listener();
  }
}
