/**
 * Records what operators do by hand in the event store: who, what, why, and what came of it.
 *
 * What always holds: the action is recorded before it begins. Where it cannot be recorded, it does not
 * happen.
 */
import { randomUUID } from 'node:crypto';
import os from 'node:os';
import {
  operatorAction,
  type OperatorActionCommand,
  type OperatorActionFacts,
  type OperatorActionName,
} from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';

/** Who acts, and why. */
export interface Operator {
  /** The name that the operator gave, or else the user of the operating system. */
  readonly actor: string;
  readonly reason: string | null;
}

/** Longer error messages are cut. */
const errorLengthMax = 1_000;

/**
 * Runs `work` as an action of `operator`, recorded before and after in the stream
 * `operatorAction-<uuid>`. Events that `work` appends under its CommandContext name the actor, and the
 * action as their cause.
 * @param action.outcome what is recorded of the result; it must hold no secret. Nothing when absent
 * @throws StoreUnavailable before `work` begins, when the action cannot be recorded
 * @throws ActionOutcomeNotRecorded when the action was done and only its outcome is missing
 * @throws whatever `work` throws, once that is recorded
 */
export async function recordOperatorAction<Result>(
  store: EventStore,
  operator: Operator,
  action: {
    readonly name: OperatorActionName;
    readonly subject: OperatorActionFacts;
    readonly outcome?: (result: Result) => OperatorActionFacts;
  },
  work: (by: CommandContext) => Promise<Result>,
): Promise<Result> {
  const actions = repository(store, operatorAction);
  const actionId = randomUUID();
  const context = operatorContext(operator.actor);
  const { actor, reason } = operator;
  const { name, subject } = action;
  const started = await actions.create(
    actionId,
    {
      type: 'StartOperatorAction',
      at: now(),
      data: {
        actionId,
        action: name,
        subject,
        actor,
        reason,
        osUser: osUser(),
        host: os.hostname(),
      },
    },
    context,
  );
  if ('refused' in started) throw new Error(`operator action ${actionId}: ${started.refused}`);
  const by = { ...context, causationId: started.events.at(-1)?.id ?? null };

  const end = async (command: OperatorActionCommand) => {
    const ended = await actions.execute(actionId, command, by);
    if ('refused' in ended) throw new Error(`operator action ${actionId}: ${ended.refused}`);
  };
  let result: Result;
  try {
    result = await work(by);
  } catch (error) {
    const data = { error: reasonOf(error).slice(0, errorLengthMax) };
    // The operator gets the first error. The action then stays without an outcome.
    await end({ type: 'FailOperatorAction', at: now(), data }).catch(() => undefined);
    throw error;
  }
  const outcome = action.outcome?.(result) ?? {};
  await end({ type: 'SucceedOperatorAction', at: now(), data: { outcome } }).catch(
    (cause: unknown) => {
      throw new ActionOutcomeNotRecorded(actionId, { cause });
    },
  );
  return result;
}

/** The action was done. Do not repeat it blindly. */
export class ActionOutcomeNotRecorded extends Error {
  override readonly name = 'ActionOutcomeNotRecorded';
  constructor(actionId: string, options: ErrorOptions) {
    super(`the action ${actionId} was done, but its outcome could not be recorded`, options);
  }
}

/** For the metadata of the events that an operator causes. */
export function operatorContext(actor: string): CommandContext {
  return {
    actor: `user:cli:${actor}`,
    requestId: null,
    correlationId: randomUUID(),
    causationId: null,
    traceparent: null,
  };
}

/** By the operating system itself, not by an environment variable. Containers may run as a user without a name. */
export function osUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function now(): string {
  return new Date().toISOString();
}
