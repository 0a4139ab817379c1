/** Collects a period after all that was given up: what `pis fees retry` does. */
import { type FeePeriod, feePeriod as feePeriods, type Refusal } from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import { settledBeside } from './late-settlement.js';

export type ReopenRefusal = Refusal<
  | 'FEE_PERIOD_NOT_FOUND'
  | 'FEE_PERIOD_NOT_REOPENED'
  | 'COLLECTION_SETTLED'
  | 'COLLECTION_SENT_BEFORE'
>;

/**
 * Makes a period due again, and the collector goes on with it. One that was not given up stays as it is, so repeating
 * the call makes nothing new.
 * @param isNotDebited staff say that the bank has not debited what it may have got before the log was restored
 * @throws StoreUnavailable
 */
export async function reopenFeePeriod(
  { store, by }: { readonly store: EventStore; readonly by: CommandContext },
  {
    feePeriodId,
    isNotDebited = false,
  }: { readonly feePeriodId: string; readonly isNotDebited?: boolean },
  now: Date,
): Promise<FeePeriod | ReopenRefusal> {
  const periods = repository(store, feePeriods);
  const { state } = await periods.load(feePeriodId);
  if (state === null) return { refused: 'FEE_PERIOD_NOT_FOUND' };
  if (state.status !== 'GIVEN_UP') return state;
  // The collector is about to see that the bank has settled one after all.
  if ((await settledBeside(store, state)).length > 0) return { refused: 'COLLECTION_SETTLED' };
  const command = {
    type: 'ReopenFeePeriod',
    at: now.toISOString(),
    data: { isNotDebited },
  } as const;
  const done = await periods.execute(feePeriodId, command, by);
  if ('refused' in done && done.refused === 'COLLECTION_SENT_BEFORE')
    return { refused: done.refused };
  if ('refused' in done) return { refused: 'FEE_PERIOD_NOT_REOPENED' };
  const { state: after } = await periods.load(feePeriodId);
  return after ?? { refused: 'FEE_PERIOD_NOT_FOUND' };
}
