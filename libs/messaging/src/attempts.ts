/** One attempt at a message, and what its failure means. The key queues and the retry table share it. */
import { isTransient } from '@pis/postgres';
import { NonRetryable } from './errors.js';
import type { DeferredBacklog } from './deferred-messages.js';
import type { LostMessages } from './kafka-losses.js';
import type { Delivery } from './message.js';

/** Hooks for metrics and logs. */
export interface ConsumerObserver {
  /** After each attempt; `failed` ones are tried again or parked. */
  handled?(delivery: Delivery, outcome: 'handled' | 'failed', durationMs: number): void;
  /** After each failed attempt, with its cause. */
  failed?(delivery: Delivery, error: unknown): void;
  parked?(delivery: Delivery, error: unknown): void;
  /** A message went to the retry table: it keeps failing while others succeed. */
  deferred?(delivery: Delivery, error: unknown): void;
  /** Kafka has deleted messages before they were read. */
  lost?(lost: LostMessages): void;
  /** By the clock: how far the group is behind, as far as this process knows. */
  progress?(progress: ConsumerProgress): void;
  /** An operation failed and will be retried: the operation, and the cause. */
  problem?(doing: string, error: unknown): void;
}

export interface ConsumerProgress {
  /** Whether the group is read: false also when a partition is not read although the group looks alive. */
  readonly connected: boolean;
  /** Unfinished messages, read or not. */
  readonly lag: number;
  /** The age of the oldest unfinished message that was taken. 0 without one. */
  readonly oldestUnfinishedMs: number;
  /** The retry table of the group. Null while it cannot be read. */
  readonly deferred: DeferredBacklog | null;
}

/** Resolves after the time or at once when the signal aborts; never rejects. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

export interface AttemptOptions {
  readonly handle: (delivery: Delivery) => Promise<void>;
  readonly observe?: ConsumerObserver;
}

/** Runs the handler once. @returns null, or what it threw. Never rejects */
export async function attempt(
  { handle, observe }: AttemptOptions,
  delivery: Delivery,
): Promise<{ readonly error: unknown } | null> {
  const startedMs = performance.now();
  const handled = (outcome: 'handled' | 'failed') => {
    const durationMs = performance.now() - startedMs;
    notify(observe, (observer) => observer.handled?.(delivery, outcome, durationMs));
  };
  try {
    await handle(delivery);
  } catch (error) {
    handled('failed');
    notify(observe, (observer) => observer.failed?.(delivery, error));
    return { error };
  }
  handled('handled');
  return null;
}

/**
 * What a failure means. `failures` counts the failures toward the dead letters, including this one.
 * Transient failures do not count.
 */
export function judge(
  error: unknown,
  failuresBefore: number,
  attemptsMax: number,
): { readonly givesUp: boolean; readonly failures: number } {
  if (error instanceof NonRetryable) return { givesUp: true, failures: failuresBefore + 1 };
  if (isTransient(error)) return { givesUp: false, failures: failuresBefore };
  const failures = failuresBefore + 1;
  return { givesUp: failures >= attemptsMax, failures };
}

/** A faulty observer must not stop a consumer. */
export function notify(
  observe: ConsumerObserver | undefined,
  what: (observe: ConsumerObserver) => void,
): void {
  try {
    if (observe !== undefined) what(observe);
  } catch (error) {
    process.emitWarning(`an observer of the consumer failed: ${String(error)}`);
  }
}

/** The n-th pause, n from 1: doubled each time up to the limit. */
export function backoffMs(n: number, initialMs: number, maxMs: number): number {
  return Math.min(initialMs * 2 ** Math.min(n - 1, 30), maxMs);
}
