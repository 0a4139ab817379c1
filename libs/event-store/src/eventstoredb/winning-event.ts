/**
 * After a conflict: what others wrote must be there for whoever reads next. EventStoreDB refuses an
 * append as soon as another one is prepared; that one can be read only after it was replicated, and it
 * never can when its node died first. So a conflict is told when its winner can be seen, or not at all.
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
