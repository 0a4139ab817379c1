/** How long deadlines wait for the bank. */
import { jest } from '@jest/globals';
import { createLogger } from '@pis/service-kit';
import { Deadlines, type DeadlinesOptions } from './deadlines.js';

const limitMs = 3_000;
const frozenMs = 60_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** The deadlines of a bank with one overdue payment and a feed that answers when it is told to. */
function overdue() {
  const feed = Promise.withResolvers<(reference: string) => boolean>();
  const done: string[] = [];
  const pending = {
    nextOverdueInMs: () => Promise.resolve(done.length === 0 ? 0 : null),
    leaseOverdue: () => Promise.resolve([{ paymentId: 'p', reference: 'r', stage: 'submitted' }]),
    find: () => Promise.resolve({ hasDeadline: true }),
    postponeOverdue: () => Promise.resolve(void done.push('postponed')),
    inFlight: () => Promise.resolve(void done.push('in flight')),
  };
  const deadlines = new Deadlines({
    payments: { apply: () => Promise.resolve({ state: { status: 'FAILED_IN_FLIGHT' } }) },
    bank: { name: 'bank', connection: {} },
    banks: { former: [] },
    ...{ takesUnknown: false, isOnlyBank: true, pending, execution: {} },
    feed: { unrecorded: () => feed.promise },
    logger: createLogger('test', 'silent'),
  } as unknown as DeadlinesOptions);
  return { deadlines, feed, done };
}

it('a feed that takes too long is not waited for', async () => {
  const { deadlines, done } = overdue();
  const round = deadlines.round();
  await jest.advanceTimersByTimeAsync(limitMs);
  await round;
  expect(done).toEqual(['in flight']);
});

it('a process that was frozen meanwhile still waits for the feed, once', async () => {
  const { deadlines, feed, done } = overdue();
  const round = deadlines.round();
  await jest.advanceTimersByTimeAsync(1);
  const now = performance.now() + frozenMs;
  jest.spyOn(performance, 'now').mockReturnValue(now);
  await jest.advanceTimersByTimeAsync(limitMs);
  feed.resolve(() => true);
  await round;
  expect(done).toEqual(['postponed']);
});
