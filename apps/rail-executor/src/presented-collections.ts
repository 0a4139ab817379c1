/**
 * Nacha lets an entry be presented again within 180 days of the first one. The collector checks that when it starts a
 * collection. It may wait here for an entry of the banks file, a review or a prenote, so the time is checked again just
 * before it is handed over.
 */
import { type LoadedTransfer, TransferMissing } from '@pis/commands';
import { isRetryInTime, type Payment, type PaymentCommand } from '@pis/domain';

/** More than an entry may be presented. */
const presentationsMax = 10;

type Load = (transferId: string) => Promise<Pick<LoadedTransfer, 'state'>>;

/** How a collection ends that may not be presented any more; null when it may. @throws StoreUnavailable */
export async function presentedTooLate(
  { owner, state }: Pick<LoadedTransfer, 'owner' | 'state'>,
  load: Load,
  nowMs: number,
): Promise<PaymentCommand | null> {
  if (owner !== 'collection' || state.reinitiates === undefined) return null;
  const at = new Date(nowMs).toISOString();
  const first = await firstPresented(state, load);
  if (isRetryInTime(first.createdAt, at)) return null;
  const failureReason = 'the entry may not be presented again: the first one is 180 days old';
  // It was not sent: the collector gives the period up, because another one would be too late, too.
  return {
    type: 'FailPayment',
    at,
    data: {
      ...{ failureCode: 'INTERNAL_ERROR', failureMessage: 'The collection was not sent.' },
      failureReason,
    },
  };
}

async function firstPresented(collection: Payment, load: Load): Promise<Payment> {
  let first = collection;
  for (let step = 0; step < presentationsMax && first.reinitiates !== undefined; step += 1)
    try {
      first = (await load(first.reinitiates)).state;
    } catch (error) {
      // A restored log may lack it.
      if (error instanceof TransferMissing) break;
      throw error;
    }
  return first;
}
