/**
 * Changes of rail_pending that a busy executor makes for many payments at once. Changes of one kind that arrive while a
 * statement is under way go together in the next one. Each caller learns the result of its own payment.
 */
import type { PaymentRail } from '@pis/domain';
import { GroupCommit, isDataError } from '@pis/postgres';
import type pg from 'pg';
import { endRows, jittered, leaseMs, noteSql, takenSql, waitSql } from './pending-statements.js';

export interface Transfer {
  readonly paymentId: string;
  readonly reference: string;
  readonly rail: PaymentRail;
  /** See Banks.nameOf. */
  readonly connection: string;
}

export interface Backoff {
  readonly initialMs: number;
  readonly maxMs: number;
  /** The time is known: it is not spread, and does not grow. */
  readonly isExact?: true;
}

/** A submission that is about to be sent, see PendingTransfers.note. */
interface Note extends Transfer {
  readonly overdueInMs: number;
}

/** `refused`: no submission of this payment may be sent any more. `paused`: nothing new may go over its connection. */
export type Noted = 'noted' | 'refused' | 'paused' | SentElsewhere;

/** Another connection has a record of this reference, and the given one has none. */
interface SentElsewhere {
  readonly connection: string;
}

/** Of a payment that was noted, a connection that is paused, or a payment that another connection has a record of. */
interface NoteRow {
  readonly payment_id: string | null;
  readonly paused: string | null;
  readonly elsewhere: string | null;
}

/** A transfer to be tried again, see PendingTransfers.wait. */
interface Wait extends Transfer {
  readonly backoff: Backoff;
  readonly isFailure: boolean;
}

/** A transfer that the bank has taken, see PendingTransfers.taken. */
interface Taken {
  readonly paymentId: string;
  readonly overdueInMs: number | null;
  readonly askInMs: number;
}

const batchMax = 200;

export class PendingBatches {
  private readonly notes = batches((notes: readonly Note[]) => this.writeNotes(notes));
  /** Many at once when a rail is closed: of all its payments. */
  private readonly waits = batches((waits: readonly Wait[]) => this.writeWaits(waits));
  private readonly takes = batches((taken: readonly Taken[]) => this.writeTaken(taken));
  private readonly ends = batches((ended: readonly Pick<Transfer, 'paymentId'>[]) =>
    this.writeEnds(ended.map(({ paymentId }) => paymentId)),
  );

  constructor(
    private readonly pool: pg.Pool,
    /** This process's, milliseconds since the epoch. */
    private readonly clock: () => number,
  ) {}

  note(note: Note): Promise<Noted> {
    return this.notes.add(note);
  }

  /** @returns the tries of unexpected errors so far */
  wait(wait: Wait): Promise<number> {
    return this.waits.add(wait);
  }

  /** @returns see PendingTransfers.taken */
  take(taken: Taken): Promise<boolean> {
    return this.takes.add(taken);
  }

  async end(paymentId: string): Promise<void> {
    await this.ends.add({ paymentId });
  }

  /** In one statement of their own. */
  endCompleted(paymentIds: readonly string[]): Promise<void> {
    return endRows(this.pool, paymentIds);
  }

  private async writeNotes(notes: readonly Note[]): Promise<Noted[]> {
    const { rows } = await this.pool.query<NoteRow>({
      name: 'rail-pending-note',
      text: noteSql,
      values: [
        notes.map(({ paymentId }) => paymentId),
        notes.map(({ reference }) => reference),
        notes.map(({ rail }) => rail),
        notes.map(({ overdueInMs }) => overdueInMs),
        new Date(this.clock()),
        leaseMs,
        notes.map(({ connection }) => connection),
      ],
    });
    const paused = new Set(rows.map((row) => row.paused));
    const found = new Map(rows.map((row) => [row.payment_id, row.elsewhere]));
    return notes.map(({ paymentId, connection }) => {
      const elsewhere = found.get(paymentId);
      if (elsewhere === null) return 'noted';
      if (elsewhere !== undefined) return { connection: elsewhere };
      return paused.has(connection) ? 'paused' : 'refused';
    });
  }

  private async writeWaits(waits: readonly Wait[]): Promise<number[]> {
    const { rows } = await this.pool.query<{ payment_id: string; failures: number }>({
      name: 'rail-pending-wait',
      text: waitSql,
      values: [
        waits.map(({ paymentId }) => paymentId),
        waits.map(({ reference }) => reference),
        waits.map(({ rail }) => rail),
        waits.map(({ connection }) => connection),
        waits.map(({ isFailure }) => (isFailure ? 1 : 0)),
        waits.map(({ backoff: { initialMs, isExact } }) =>
          isExact === true ? initialMs : jittered(initialMs),
        ),
        waits.map(({ backoff }) => backoff.maxMs),
      ],
    });
    const failures = new Map(rows.map((row) => [row.payment_id, row.failures]));
    return waits.map(({ paymentId }) => failures.get(paymentId) ?? 0);
  }

  private async writeTaken(taken: readonly Taken[]): Promise<boolean[]> {
    const { rows } = await this.pool.query<{ payment_id: string; isOpen: boolean }>({
      name: 'rail-pending-taken',
      text: takenSql,
      values: [
        taken.map(({ paymentId }) => paymentId),
        taken.map(({ overdueInMs }) => overdueInMs),
        taken.map(({ askInMs }) => askInMs),
      ],
    });
    const open = new Map(rows.map((row) => [row.payment_id, row.isOpen]));
    return taken.map(({ paymentId }) => open.get(paymentId) ?? false);
  }

  private async writeEnds(paymentIds: readonly string[]): Promise<true[]> {
    await endRows(this.pool, paymentIds);
    return paymentIds.map(() => true);
  }
}

/** A payment is in a statement once. If the data of one of them is at fault, each is written alone. */
function batches<Item extends { readonly paymentId: string }, Result>(
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
): GroupCommit<Item, Result> {
  return new GroupCommit({
    keyOf: ({ paymentId }) => paymentId,
    write,
    batchMax,
    isItemsFault: isDataError,
  });
}
