/**
 * Given/when/then for aggregates: the facts so far, one command, and its result. The whole list of events
 * is compared, deeply and in order. So an unexpected extra event or field fails the test like a missing
 * one.
 */
import { type Aggregate, type DomainCommand, type DomainEvent, isRefusal } from '../decider.js';

/** Folds a history; throws where evolve does: on a history that cannot have happened. */
export function fold<State, Event extends DomainEvent>(
  aggregate: Pick<Aggregate<State, DomainCommand, Event, string>, 'initial' | 'evolve'>,
  history: readonly Event[],
): State {
  return history.reduce<State>((state, event) => aggregate.evolve(state, event), aggregate.initial);
}

/** The result of a command: the events to append, or the refusal. */
export type Outcome<Event, Code extends string> =
  | { readonly events: readonly Event[] }
  | { readonly refused: Code };

/** Decides `command` after `history` and names the outcome, ready to be compared deeply. */
export function outcomeOf<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  aggregate: Aggregate<State, Command, Event, Code>,
  history: readonly Event[],
  command: Command,
): Outcome<Event, Code> {
  const decision = aggregate.decide(command, fold(aggregate, history));
  return isRefusal(decision) ? { refused: decision.refused } : { events: [...decision] };
}

export interface Then<State, Event, Code extends string> {
  /** Exactly these events, in this order, deeply equal. */
  then(...events: readonly Event[]): void;
  /** Nothing to append: the command would change nothing. */
  thenNothing(): void;
  thenRefused(code: Code): void;
  /** The state after the events that the command led to; throws if it was refused. */
  state(): State;
}

/**
 * `given(payment, queued).when(processPayment).then(processing)`. Every comparison freezes the
 * history first, so a decide or evolve that changes what it was given throws.
 */
export function given<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  aggregate: Aggregate<State, Command, Event, Code>,
  ...history: readonly Event[]
): { when(command: Command): Then<State, Event, Code> } {
  return {
    when(command) {
      const outcome = outcomeOf(aggregate, deepFreeze(history), deepFreeze(command));
      const expectOutcome = (expected: Outcome<Event, Code>) => {
        expect(outcome).toStrictEqual(expected);
      };
      return {
        then: (...events) => expectOutcome({ events }),
        thenNothing: () => expectOutcome({ events: [] }),
        thenRefused: (code) => expectOutcome({ refused: code }),
        state() {
          if ('refused' in outcome) throw new Error(`refused: ${outcome.refused}`);
          return fold(aggregate, [...history, ...outcome.events]);
        },
      };
    },
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
