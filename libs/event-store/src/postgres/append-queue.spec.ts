import { StoreUnavailable } from '../port.js';
import type { ProposedAppend } from '../proposed-append.js';
import { TimeLimit, withTimeLimit } from '../time-limit.js';
import { AppendQueue } from './append-queue.js';

const limits = { batchAppendsMax: 4, batchBytesMax: 100, queueMax: 20 };
const append = (streamId: string, sizeBytes = 1): ProposedAppend => ({
  streamId,
  expected: 'noStream',
  events: [],
  sizeBytes,
});

/** Writes nothing, keeps the batches it was given, and answers with the stream ids. */
function recording(fails: (batch: readonly ProposedAppend[]) => Error | null = () => null) {
  const batches: string[][] = [];
  const commits = new AppendQueue<string>(async (batch) => {
    batches.push(batch.map(({ streamId }) => streamId));
    await new Promise((resolve) => setImmediate(resolve));
    const error = fails(batch);
    if (error !== null) throw error;
    return batch.map(({ streamId }) => `wrote ${streamId}`);
  }, limits);
  return { batches, commits };
}

describe('the append queue', () => {
  it('writes concurrent appends in one batch and answers each separately', async () => {
    const { batches, commits } = recording();
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => commits.append(append(id))));
    expect(batches).toEqual([['a', 'b', 'c']]);
    expect(answers).toEqual(['wrote a', 'wrote b', 'wrote c']);
  });

  it('keeps to the largest batch, the oldest appends first', async () => {
    const { batches, commits } = recording();
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => commits.append(append(id))));
    expect(batches).toEqual([
      ['a', 'b', 'c', 'd'],
      ['e', 'f'],
    ]);
  });

  it('keeps to the bytes of a batch, and sends a larger append alone', async () => {
    const { batches, commits } = recording();
    const sizes = [60, 60, 500, 1];
    await Promise.all(sizes.map((size, index) => commits.append(append(`s${index}`, size))));
    expect(batches).toEqual([['s0'], ['s1'], ['s2'], ['s3']]);
  });

  it('has at most one append to a stream in a batch, in their order', async () => {
    const { batches, commits } = recording();
    await Promise.all(['a', 'a', 'b', 'a', 'b'].map((id) => commits.append(append(id))));
    expect(batches).toEqual([['a', 'b'], ['a', 'b'], ['a']]);
  });

  it('does not write an append that waits when its request has ended', async () => {
    const { batches, commits } = recording();
    const over = new TimeLimit();
    const first = commits.append(append('a'));
    await new Promise((resolve) => setImmediate(resolve));
    const abandoned = withTimeLimit(over, () => commits.append(append('b')));
    const other = commits.append(append('c'));
    over.end();
    await expect(abandoned).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await Promise.all([first, other])).toEqual(['wrote a', 'wrote c']);
    expect(batches).toEqual([['a'], ['c']]);
  });

  it('fails only the append that cannot be stored, not the others in its batch', async () => {
    const poisoned = (batch: readonly ProposedAppend[]) =>
      batch.some(({ streamId }) => streamId === 'bad') ? new Error('cannot be stored') : null;
    const { commits } = recording(poisoned);
    const ids = ['a', 'bad', 'b'];
    const outcomes = await Promise.allSettled(ids.map((id) => commits.append(append(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails the batch when the store is unavailable, and continues with the next', async () => {
    let down = true;
    const { batches, commits } = recording(() => (down ? new StoreUnavailable('down') : null));
    const ids = ['a', 'b'];
    const outcomes = await Promise.allSettled(ids.map((id) => commits.append(append(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
    down = false;
    expect(await commits.append(append('a'))).toBe('wrote a');
  });

  it('refuses more than may wait', async () => {
    const { commits } = recording();
    const waiting = Array.from({ length: 20 }, (_, index) => commits.append(append(`s${index}`)));
    await expect(commits.append(append('one too many'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await Promise.all(waiting)).toHaveLength(20);
  });

  it('settles accepted appends before it closes, and accepts no more', async () => {
    const { commits } = recording();
    const taken = Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => commits.append(append(id))));
    await commits.close();
    await expect(commits.append(append('f'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await taken).toHaveLength(5);
  });
});
