/**
 * The retry table of a consumer group: messages that keep failing while others succeed. They leave
 * their partition, so that its position moves on. Any process of the group retries them from here.
 *
 * What always holds:
 * - messages of one key come out in the order in which they went in;
 * - while a key is in the table, its newer messages go in behind (`follow`), whoever receives them;
 * - only the process with the lease of a key works on it. A process that lost its lease changes nothing.
 */
import type { Delivery } from './message.js';

/** The first message of a key, claimed by this process. */
export interface DeferredMessage {
  readonly id: string;
  /** Identifies the claim, together with the key. */
  readonly lease: string;
  /** `attempt` counts the attempts so far. */
  readonly delivery: Delivery;
  /** When it was put into the table. */
  readonly deferredAt: Date;
  /** Attempts that count towards the dead letters. */
  readonly failures: number;
}

/** The state of a message after a failed attempt, and when to try again. */
export interface FailedAttempt {
  readonly error: string;
  readonly failures: number;
  readonly dueInMs: number;
}

export interface DeferredBacklog {
  /** Counted up to `deferredCountMax`. */
  readonly messages: number;
  /** 0 without a message. */
  readonly oldestAgeMs: number;
}

export interface DeferredMessages {
  /** Appends a message behind the others of its key. The same message twice is one. */
  defer(group: string, delivery: Delivery, failed: FailedAttempt): Promise<void>;
  /** Appends a message only while others of its key wait. @returns whether it is in the table now */
  follow(group: string, delivery: Delivery): Promise<boolean>;
  /** Which of the keys are in the table. */
  holding(group: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  isEmpty(group: string): Promise<boolean>;
  /** Leases due keys, the longest due first. @returns the first message of each */
  claim(group: string, max: number, leaseMs: number): Promise<readonly DeferredMessage[]>;
  /** Prolongs leases that are still held; 0 gives them back. */
  renew(group: string, claimed: readonly DeferredMessage[], leaseMs: number): Promise<void>;
  /** Removes a message that is done. @returns the next of its key, null without one or without the lease */
  settle(group: string, message: DeferredMessage): Promise<DeferredMessage | null>;
  /** Notes a failed attempt and gives the lease back. */
  postpone(group: string, message: DeferredMessage, failed: FailedAttempt): Promise<void>;
  backlog(group: string): Promise<DeferredBacklog>;
}

/** A longer backlog is reported as this number. */
export const deferredCountMax = 10_000;
