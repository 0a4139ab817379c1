/** What became of deliveries, as rows: finished ones, and those that stay pending. */
import type { Attempt, DecidedDelivery, FinishedReason, Outcome } from './delivery.js';

export interface RecordedRow {
  readonly id: string;
  readonly attempt: Attempt | null;
  /** Made until now, this one included. */
  readonly attempts: number;
  /** As many as were known when it was leased. */
  readonly redeliveryRequests: number;
}

export interface FinishedRow extends RecordedRow {
  readonly state: 'delivered' | 'failed' | 'canceled';
  readonly finishedAt: Date;
  readonly finishedReason: FinishedReason | null;
}

export interface PendingRow extends RecordedRow {
  readonly nextAttemptAt: Date | null;
  readonly leasedUntil: Date | null;
}

const finishes = {
  delivered: { state: 'delivered', finishedReason: null },
  refused: { state: 'failed', finishedReason: 'refused' },
  windowEnded: { state: 'failed', finishedReason: 'window_ended' },
  endpointDeleted: { state: 'canceled', finishedReason: 'endpoint_deleted' },
} as const satisfies Record<
  Exclude<Outcome['kind'], 'retry' | 'released'>,
  { state: FinishedRow['state']; finishedReason: FinishedReason | null }
>;

/** The row of a delivery that is finished; none for one that is not. */
export function finishedRow(decided: DecidedDelivery): FinishedRow[] {
  const { outcome } = decided;
  if (outcome.kind === 'retry' || outcome.kind === 'released') return [];
  return [{ ...recordedRow(decided), ...finishes[outcome.kind], finishedAt: outcome.finishedAt }];
}

/** The row of a delivery that stays pending; none for one that is finished. */
export function pendingRow(decided: DecidedDelivery): PendingRow[] {
  const { outcome } = decided;
  if (outcome.kind !== 'retry' && outcome.kind !== 'released') return [];
  return [
    {
      ...recordedRow(decided),
      nextAttemptAt: outcome.kind === 'retry' ? outcome.nextAttemptAt : null,
      leasedUntil: outcome.kind === 'released' ? outcome.notBefore : null,
    },
  ];
}

/** It would have been finished, but its owner asked for it again: it is free, and due as asked. */
export function stillPending(row: RecordedRow): PendingRow {
  const { id, attempt, attempts, redeliveryRequests } = row;
  return { id, attempt, attempts, redeliveryRequests, nextAttemptAt: null, leasedUntil: null };
}

function recordedRow({ delivery, outcome }: DecidedDelivery): RecordedRow {
  const attempt = 'attempt' in outcome ? outcome.attempt : null;
  const attempts = delivery.attempts + (attempt === null ? 0 : 1);
  return { id: delivery.id, attempt, attempts, redeliveryRequests: delivery.redeliveryRequests };
}
