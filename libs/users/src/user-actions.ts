/**
 * Records what users do in the dashboard where the action itself writes no event: who, what, when, and what came of it.
 *
 * What always holds: the action is recorded before it begins. Where it cannot be recorded, it does not happen.
 */
import { randomUUID } from 'node:crypto';
import {
  type User,
  userAction,
  type UserActionClient,
  type UserActionCommand,
  type UserActionName,
  type UserActionSubject,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  outsideTimeLimit,
  repository,
  StoreUnavailable,
} from '@pis/event-store';

export interface ActionOfUser {
  /** UUID of an action that several calls may do together, such as ending a session. Absent: each call is an action. */
  readonly actionId?: string;
  readonly name: UserActionName;
  readonly user: Pick<User, 'userId' | 'organizationId'>;
  readonly subject?: UserActionSubject;
  readonly client?: Omit<UserActionClient, 'userId'> | null;
}

const errorLengthMax = 100;

/**
 * Runs `work` as an action of a user, recorded before and after in the stream `userAction-<uuid>`. The outcome is
 * recorded outside of the request's time limit: work goes on behind it. An outcome that cannot be recorded changes
 * nothing: the action then stays without one.
 *
 * Calls with the same `actionId` are one action: each runs `work`, and the first that succeeds records the outcome.
 * None records a failure, because another call may still succeed.
 * @throws StoreUnavailable before `work` begins, when the action cannot be recorded
 * @throws KeyDestroyed before `work` begins, for the client of a user who was erased meanwhile
 * @throws whatever `work` throws
 */
export async function recordUserAction<Result>(
  store: EventStore,
  action: ActionOfUser,
  by: CommandContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const actions = repository(store, userAction);
  const { name, user, subject = {}, client = null, actionId = randomUUID() } = action;
  const { userId, organizationId } = user;
  const isShared = action.actionId !== undefined;
  const data = {
    ...{ actionId, organizationId, userId, action: name, subject },
    client: client && { userId, ...client },
  };
  const started = await actions.create(actionId, { type: 'StartUserAction', at: now(), data }, by);
  if ('refused' in started && !isShared)
    throw new Error(`user action ${actionId}: ${started.refused}`);
  const { lastEvent } = 'refused' in started ? await actions.load(actionId) : started;
  const context = { ...by, causationId: lastEvent?.id ?? null };
  const end = async (command: UserActionCommand) => {
    if (isShared && command.type === 'FailUserAction') return;
    try {
      await outsideTimeLimit(() => actions.execute(actionId, command, context));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  };
  let result: Result;
  try {
    result = await work();
  } catch (error) {
    await end({ type: 'FailUserAction', at: now(), data: { error: kindOf(error) } });
    throw error;
  }
  const refusal = refusalIn(result);
  await end(
    refusal === null
      ? { type: 'SucceedUserAction', at: now(), data: {} }
      : { type: 'FailUserAction', at: now(), data: { error: refusal } },
  );
  return result;
}

/** The code of an error of ours, or else the error's name: a message may hold anything. */
function kindOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  const kind = [code, name].find((one) => typeof one === 'string') ?? 'unknown';
  return kind.slice(0, errorLengthMax);
}

/** The code of a refusal; null for any other result. */
function refusalIn(result: unknown): string | null {
  const { refused } = (result ?? {}) as { readonly refused?: unknown };
  return typeof refused === 'string' ? refused : null;
}

function now(): string {
  return new Date().toISOString();
}
