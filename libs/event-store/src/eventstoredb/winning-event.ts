/**
 * After a conflict, every later read must show what others wrote. EventStoreDB refuses an append as soon as
 * another one is prepared. The other one can be read only after it is replicated, and never if its node
 * died first. So a conflict is reported only when its winning event can be read.
 */
import { backoffMs, pause } from '@pis/postgres';
import { StoreUnavailable, type WrongExpectedRevision } from '../port.js';

const pauseInitialMs = 5;
const pauseMaxMs = 100;

/**
 * @param canRead whether the stream has an event at this revision
 * @throws StoreUnavailable when the winner cannot be read within `timeoutMs`
 */
export async function untilWinnerCanBeRead(
  { streamId, actual }: WrongExpectedRevision,
  timeoutMs: number,
  canRead: (revision: number) => Promise<boolean>,
): Promise<void> {
  if (actual === 'noStream') return;
  const endsAtMs = performance.now() + timeoutMs;
  for (let tries = 0; !(await canRead(actual)); tries += 1) {
    if (performance.now() >= endsAtMs)
      throw new StoreUnavailable(
        `${streamId}: another append is under way and cannot be read after ${timeoutMs} ms`,
      );
    await pause(backoffMs(tries, pauseInitialMs, pauseMaxMs));
  }
}
