/**
 * What must be handled later, and when: a row for each payment that has not ended. The row is written
 * before the first byte goes to the bank, so a crash loses no payment. An extra row does no harm: the
 * payment's stream has its real status.
 *
 * PostgreSQL's clock decides which rows are due. Where a wrong clock would do harm, this process's clock
 * must agree: a note carries the later of both times, and its age counts from the earlier one.
 *
 * A row has no anchor (the event that it stands on): it names a payment and no place in the log. What is done
 * for it is decided on the payment's stream and appended at the revision that was read. A log that lost the
 * payment, or a part of it, shows that: the row is kept, and what it knows beyond the stream is used. While
 * the log lacks what the executor's checkpoint stands on, no row is handled at all.
 */
import { recordsSql } from '@pis/bank-rails/connections';
import { GroupCommit } from '@pis/postgres';
import type pg from 'pg';
import { unknownConnection } from './banks.js';
import { type Backoff, type Noted, PendingBatches, type Transfer } from './pending-batches.js';
import {
  columns,
  databaseNowMs,
  type DueColumn,
  jittered,
  leaseMs,
  leaseSql,
  nextSql,
  pendingTransfer,
  type PendingTransfer,
  type Row,
  sealSql,
  type Stage,
} from './pending-statements.js';

export type { Backoff, Transfer } from './pending-batches.js';
export type { PendingTransfer, Stage } from './pending-statements.js';

/** The state after which no further submission can be noted. Milliseconds since the epoch. */
export interface Sealed {
  readonly lastNotedAtMs: number;
  /** The earlier of both clocks, and the later one. */
  readonly nowMs: number;
  readonly latestMs: number;
}

/** What the loops are told of a row. */
export interface Change {
  /** The row may be due sooner than it was, so the sweeps must look. */
  readonly mayBeDueSooner: boolean;
  /** A payment has come on. Another try that came to nothing is no news: the process may stay idle. */
  readonly isNews: boolean;
}

/** How long the rows of completed payments are collected before one statement deletes them. */
const completedPauseMs = 100;

/** When the next row of these connections is due. */
interface Look {
  readonly due: DueColumn;
  readonly connections: readonly string[];
}

/** Looks that share a statement. */
const looksMax = 100;

export class PendingTransfers {
  private readonly listeners = new Set<(change: Change) => void>();
  private readonly batches: PendingBatches;
  /** The loops of all connections look together. */
  private readonly looks: GroupCommit<Look, number | null>;
  private completedIds = new Set<string>();
  private completedTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: pg.Pool,
    /** This process's, milliseconds since the epoch. */
    private readonly clock: () => number,
    private readonly pauseMs: number = completedPauseMs,
  ) {
    this.batches = new PendingBatches(pool, clock);
    this.looks = new GroupCommit({
      write: (looks) => this.nextInMs(looks),
      batchMax: looksMax,
      isItemsFault: () => false,
    });
  }

  /**
   * Notes that a submission is about to be sent. It must be sent within the time that the connection
   * states, or not at all. `overdueInMs` counts for the first note of a payment.
   */
  note(transfer: Transfer, overdueInMs: number): Promise<Noted> {
    return this.batches.note({ ...transfer, overdueInMs });
  }

  /** From now on no submission can be noted. If the time of the last one is unknown, it counts as just noted. */
  async seal(transfer: Transfer, overdueInMs: number): Promise<Sealed> {
    const { rows } = await this.pool.query<{ last: Date; now: Date; latest: Date }>({
      name: 'rail-pending-seal',
      text: sealSql,
      values: [
        transfer.paymentId,
        transfer.reference,
        transfer.rail,
        new Date(this.clock()),
        overdueInMs,
        leaseMs,
        transfer.connection,
      ],
    });
    if (rows[0] === undefined) throw new Error('the seal returned no row');
    const { last, now, latest } = rows[0];
    return { lastNotedAtMs: last.getTime(), nowMs: now.getTime(), latestMs: latest.getTime() };
  }

  /** PostgreSQL's clock, milliseconds since the epoch. */
  nowMs = (): Promise<number> => databaseNowMs(this.pool);

  /**
   * The bank has taken it.
   * @param overdueInMs null without a confirmation to expect: there is no deadline to miss
   * @returns false when another executor may have failed the payment meanwhile: its row is sealed, further on, or gone
   */
  async taken(paymentId: string, overdueInMs: number | null, askInMs: number): Promise<boolean> {
    const isUnderWay = await this.batches.take({ paymentId, overdueInMs, askInMs });
    this.changed({ mayBeDueSooner: false, isNews: true });
    return isUnderWay;
  }

  /** The bank has taken it and names no time for it: there is no deadline to miss any more. */
  async held(paymentId: string): Promise<void> {
    await this.pool.query({
      name: 'rail-pending-held',
      text: `UPDATE rail_pending SET stage = 'submitted', overdue_at = NULL
              WHERE payment_id = $1 AND stage IN ('queued', 'claimed', 'submitted')`,
      values: [paymentId],
    });
  }

  /**
   * Not submitted yet: try again after a pause that doubles with each try.
   * @param isFailure counts as one of the tries of an unexpected error
   * @returns how many such tries there were
   */
  async wait(transfer: Transfer, backoff: Backoff, isFailure = false): Promise<number> {
    const failures = await this.batches.wait({ ...transfer, backoff, isFailure });
    this.changed({ mayBeDueSooner: true, isNews: false });
    return failures;
  }

  /** Try again after a pause that doubles with each try. Does nothing when there is no row. */
  async again(paymentId: string, { initialMs, maxMs }: Backoff): Promise<void> {
    await this.pool.query({
      name: 'rail-pending-again',
      text: `UPDATE rail_pending AS p SET attempts = p.attempts + 1,
               deadline_at = now() + least($3::float8, $2::float8 * power(2, least(p.attempts, 30)))
                                     * interval '1 millisecond'
             WHERE payment_id = $1`,
      values: [paymentId, jittered(initialMs), maxMs],
    });
    this.changed({ mayBeDueSooner: true, isNews: false });
  }

  /** Something has changed for a payment that was not submitted: look at it now. */
  async lookAgain(paymentId: string): Promise<void> {
    await this.pool.query({
      name: 'rail-pending-look',
      text: `UPDATE rail_pending SET deadline_at = least(deadline_at, now())
              WHERE payment_id = $1 AND stage = 'queued'`,
      values: [paymentId],
    });
    this.changed();
  }

  /** FAILED_IN_FLIGHT is recorded: ask the bank about it at once, and repeat until it answers. */
  async inFlight(paymentId: string): Promise<void> {
    await this.pool.query(
      `UPDATE rail_pending
          SET stage = 'in_flight', overdue_at = NULL, attempts = 0, deadline_at = now()
        WHERE payment_id = $1`,
      [paymentId],
    );
    this.changed();
  }

  /** Check again after this time whether it is overdue, unless its deadline has gone meanwhile: the bank holds it. */
  async postponeOverdue(paymentId: string, inMs: number): Promise<void> {
    await this.pool.query(
      `UPDATE rail_pending SET overdue_at = now() + $2::float8 * interval '1 millisecond'
        WHERE payment_id = $1 AND overdue_at IS NOT NULL`,
      [paymentId, inMs],
    );
  }

  /** It is overdue after this time, whether it had a deadline or not. Only in these stages, if they are given. */
  async setOverdue(
    paymentId: string,
    inMs: number,
    stages: readonly Stage[] | null = null,
  ): Promise<void> {
    await this.pool.query(
      `UPDATE rail_pending SET overdue_at = now() + $2::float8 * interval '1 millisecond'
        WHERE payment_id = $1 AND ($3::text[] IS NULL OR stage = ANY ($3))`,
      [paymentId, Math.max(0, inMs), stages],
    );
  }

  /** It has no claim. A claim that is recorded just now sets the deadline anew or has left these stages. */
  async notOverdue(paymentId: string): Promise<void> {
    await this.pool.query(
      `UPDATE rail_pending SET overdue_at = NULL
        WHERE payment_id = $1 AND stage IN ('queued', 'claimed')`,
      [paymentId],
    );
  }

  /** The payment has ended, or belongs to another system. */
  async done(paymentId: string): Promise<void> {
    await this.batches.end(paymentId);
  }

  /**
   * The payment is completed: its row is deleted soon, together with others. If a crash or an unavailable
   * database prevents that, the row is due after its lease and is deleted then.
   */
  completed(paymentId: string): void {
    this.completedIds.add(paymentId);
    this.completedTimer ??= setTimeout(() => {
      this.flushCompleted().catch(() => undefined);
    }, this.pauseMs);
  }

  /** Deletes the rows of completed payments now. @throws connection errors of PostgreSQL */
  async flushCompleted(): Promise<void> {
    clearTimeout(this.completedTimer);
    this.completedTimer = undefined;
    const paymentIds = [...this.completedIds];
    this.completedIds = new Set();
    if (paymentIds.length > 0) await this.batches.endCompleted(paymentIds);
  }

  async find(paymentId: string): Promise<PendingTransfer | null> {
    const { rows } = await this.pool.query<Row>({
      name: 'rail-pending-find',
      text: `SELECT ${columns} FROM rail_pending p WHERE payment_id = $1`,
      values: [paymentId],
    });
    return rows[0] === undefined ? null : pendingTransfer(rows[0]);
  }

  /**
   * The connection that has a record of this reference, also if it is not configured any more; the given one first. Null
   * when none has.
   */
  async recordedOver({ reference, connection }: Transfer): Promise<string | null> {
    const { rows } = await this.pool.query<{ connection: string }>({
      name: 'rail-recorded-over',
      text: `SELECT r.connection FROM (${recordsSql('$1')}) AS r
              ORDER BY r.connection <> $2, r.connection LIMIT 1`,
      values: [reference, connection],
    });
    return rows[0]?.connection ?? null;
  }

  /** Leases due rows of these connections for leaseMs, the oldest first. Several executors share the rows. */
  leaseDue(connections: readonly string[], max: number): Promise<readonly PendingTransfer[]> {
    return this.lease('deadline_at', connections, max);
  }

  /** Leases rows of these connections that may be overdue for leaseMs, the oldest first. */
  leaseOverdue(connections: readonly string[], max: number): Promise<readonly PendingTransfer[]> {
    return this.lease('overdue_at', connections, max);
  }

  /** Milliseconds until the next row is due, null when there is none. */
  nextDueInMs(connections: readonly string[]): Promise<number | null> {
    return this.looks.add({ due: 'deadline_at', connections });
  }

  /** Milliseconds until the next row may be overdue, null when none may. */
  nextOverdueInMs(connections: readonly string[]): Promise<number | null> {
    return this.looks.add({ due: 'overdue_at', connections });
  }

  /** Hands a row over to its connection, unless another one may have the payment. It is due at once. */
  async assign(paymentId: string, connection: string): Promise<void> {
    await this.pool.query({
      name: 'rail-pending-assign',
      text: `UPDATE rail_pending SET connection = $2, deadline_at = least(deadline_at, now()),
               overdue_at = CASE WHEN overdue_at IS NOT NULL THEN least(overdue_at, now()) END
              WHERE payment_id = $1 AND (connection = $3 OR stage = 'queued')`,
      values: [paymentId, connection, unknownConnection],
    });
    this.changed();
  }

  /** The connections that rows name, except those given. */
  async otherConnections(connections: readonly string[]): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ connection: string }>(
      'SELECT DISTINCT connection FROM rail_pending WHERE connection <> ALL ($1::text[])',
      [[...connections, unknownConnection]],
    );
    return rows.map(({ connection }) => connection);
  }

  /** Calls back when a row was written. A hint for the loops in this process. */
  onChange(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(change: Change = { mayBeDueSooner: true, isNews: true }): void {
    for (const listener of this.listeners) listener(change);
  }

  private async lease(
    due: DueColumn,
    connections: readonly string[],
    max: number,
  ): Promise<readonly PendingTransfer[]> {
    const { rows } = await this.pool.query<Row>({
      name: `rail-pending-lease-${due}`,
      text: leaseSql(due),
      values: [max, leaseMs, connections],
    });
    return rows.map(pendingTransfer);
  }

  private async nextInMs(looks: readonly Look[]): Promise<readonly (number | null)[]> {
    const asked = looks.flatMap(({ due, connections }, look) =>
      connections.map((connection) => ({ look, due, connection })),
    );
    const { rows } = await this.pool.query<{ look: number; ms: number | null }>({
      name: 'rail-pending-next',
      text: nextSql,
      values: [
        asked.map(({ look }) => look),
        asked.map(({ due }) => due),
        asked.map(({ connection }) => connection),
      ],
    });
    const found = new Map(rows.map(({ look, ms }) => [look, ms]));
    return looks.map((_, look) => {
      const ms = found.get(look) ?? null;
      return ms === null ? null : Math.max(0, Math.ceil(ms));
    });
  }
}
