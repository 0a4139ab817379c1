import { jest } from '@jest/globals';
import { againOnConflict, conflictTriesMax } from './conflicts.js';
import { memoryEventStore } from './memory/memory-event-store.js';
import { WrongExpectedRevision } from './port.js';

const conflict = () => new WrongExpectedRevision('payment-1', 0, 1);
/** More than all pauses of one writer, less than the longest wait for a turn. */
const pausesMaxMs = 2_500;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a writer of a stream that others append to', () => {
  it('tries again after a conflict and knows which try it is', async () => {
    const tries: number[] = [];
    const result = againOnConflict(memoryEventStore(), 'payment-1', async (count) => {
      tries.push(count);
      if (count < 3) throw conflict();
      return 'written';
    });
    await jest.advanceTimersByTimeAsync(pausesMaxMs);
    expect(await result).toBe('written');
    expect(tries).toEqual([1, 2, 3]);
  });

  it('gives up after a number of conflicts, and at once for any other error', async () => {
    let tries = 0;
    const lost = againOnConflict(memoryEventStore(), 'payment-1', async (count) => {
      tries = count;
      throw conflict();
    }).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(pausesMaxMs);
    expect(await lost).toBeInstanceOf(WrongExpectedRevision);
    expect(tries).toBe(conflictTriesMax);

    const broken = againOnConflict(memoryEventStore(), 'payment-1', async () => {
      throw new RangeError('broken');
    });
    await expect(broken).rejects.toBeInstanceOf(RangeError);
  });

  it('does not wait for its own turn when a part of its work conflicts too', async () => {
    const store = memoryEventStore();
    let settled = false;
    const outer = againOnConflict(store, 'payment-1', async (outerTries) => {
      if (outerTries === 1) throw conflict();
      await againOnConflict(store, 'payment-1', async (innerTries) => {
        if (innerTries === 1) throw conflict();
      });
    }).then(() => {
      settled = true;
    });
    await jest.advanceTimersByTimeAsync(pausesMaxMs);
    expect(settled).toBe(true);
    await outer;
  });
});
