/**
 * Actions of users that change no other stream: each one is recorded, before and after. Records are kept forever, so
 * a user has so many of them an hour. Sign-ins have a number of their own: whoever has used up the rest can still
 * sign in. Ending sessions is not limited: each one took a sign-in, and it must always work.
 */
import type { CommandContext, EventStore } from '@pis/event-store';
import { type ActionOfUser, recordUserAction } from '@pis/users';
import { ChangeLimit } from './change-limit.js';

export const recordedActionsPerHourMax = 600;
export const signInsPerHourMax = 120;

export class RecordedActions {
  private readonly actions: ChangeLimit;
  private readonly signIns: ChangeLimit;

  constructor(
    private readonly store: EventStore,
    isLimited: boolean,
  ) {
    this.actions = new ChangeLimit(isLimited, recordedActionsPerHourMax);
    this.signIns = new ChangeLimit(isLimited, signInsPerHourMax);
  }

  /**
   * Refuse what can be refused before this: a refusal is no action, and must not fill the log.
   * @throws RateLimited, StoreUnavailable before `work` begins; and whatever `work` throws
   */
  run<Result>(
    action: ActionOfUser,
    by: CommandContext,
    work: () => Promise<Result>,
  ): Promise<Result> {
    this.takeAction(action.user.userId);
    return recordUserAction(this.store, action, by, work);
  }

  /** @throws StoreUnavailable before `work` begins; and whatever `work` throws */
  endingSession<Result>(
    action: ActionOfUser,
    by: CommandContext,
    work: () => Promise<Result>,
  ): Promise<Result> {
    return recordUserAction(this.store, action, by, work);
  }

  /** @throws RateLimited */
  takeAction(userId: string): void {
    this.actions.take(userId);
  }

  /** Only of users who have proven who they are, so nobody else can use up a user's sign-ins. @throws RateLimited */
  takeSignIn(userId: string): void {
    this.signIns.take(userId);
  }
}
