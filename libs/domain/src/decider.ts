/**
 * What every aggregate is: facts, a state folded from them, and a pure decision. No clock, no
 * randomness, no I/O: times and identifiers arrive in the command (CONTRIBUTING.md, "Style").
 */

import type { Category } from './categories.js';

/** A fact: named in the past tense, never changed once written. `at` is ISO 8601 with milliseconds. */
export interface DomainEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly at: string;
  readonly data: Data;
}

/** A request, named in the imperative. `at` is the time at which it was accepted, ISO 8601 with milliseconds. */
export interface DomainCommand<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly at: string;
  readonly data: Data;
}

/** An expected refusal is a value; a broken invariant throws. */
export interface Refusal<Code extends string = string> {
  readonly refused: Code;
}

export type Decision<Event, Code extends string> = readonly Event[] | Refusal<Code>;

export function isRefusal<Event, Code extends string>(
  decision: Decision<Event, Code>,
): decision is Refusal<Code> {
  return 'refused' in decision;
}

export interface Aggregate<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
  InCategory extends string = Category,
> {
  /** Its streams are named `<category>-<id>`. */
  readonly category: InCategory;
  readonly initial: State;
  decide(command: Command, state: State): Decision<Event, Code>;
  evolve(state: State, event: Event): State;
  /** The current schema version of each event type, written into the event's metadata. */
  readonly schemaVersions: Readonly<Record<Event['type'], number>>;
  /**
   * Raised when `evolve` makes a different state of the same events. Snapshots of another version are not
   * used. Absent: no snapshots are kept, because the streams of the aggregate stay short.
   */
  readonly stateVersion?: number;
  /** Brings the data of an older schema version to the current one. Absent while every version is 1. */
  readonly upcast?: (type: Event['type'], schemaVersion: number, data: unknown) => unknown;
}

/** Ends an exhaustive switch: a new case makes the compiler point here. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
