/** Outcomes as rows: of finished deliveries, and of those that stay pending. */
import type { Attempt, DecidedDelivery, FinishedReason, Outcome } from './delivery.js';

export interface RecordedRow {
  readonly id: string;
  readonly attempt: Attempt | null;
  /** Made so far, including this one. */
  readonly attempts: number;
  /** As they were when the delivery was leased. */
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

/** The row of a finished delivery. Empty for a pending one. */
export function finishedRow(decided: DecidedDelivery): FinishedRow[] {
  const { outcome } = decided;
  if (outcome.kind === 'retry' || outcome.kind === 'released') return [];
  return [{ ...recordedRow(decided), ...finishes[outcome.kind], finishedAt: outcome.finishedAt }];
}

/** The row of a delivery that stays pending. Empty for a finished one. */
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

/** A failed delivery that the client requested again meanwhile: it is free, and due as requested. */
export function stillPending(row: RecordedRow): PendingRow {
  const { id, attempt, attempts, redeliveryRequests } = row;
  return { id, attempt, attempts, redeliveryRequests, nextAttemptAt: null, leasedUntil: null };
}

function recordedRow({ delivery, outcome }: DecidedDelivery): RecordedRow {
  const attempt = 'attempt' in outcome ? outcome.attempt : null;
  const attempts = delivery.attempts + (attempt === null ? 0 : 1);
  return { id: delivery.id, attempt, attempts, redeliveryRequests: delivery.redeliveryRequests };
}
