import { Batcher } from './batcher.js';

function recording(run = (items: readonly string[]) => Promise.resolve(items)) {
  const batches: (readonly string[])[] = [];
  const batcher = new Batcher<string, string>({
    keyOf: (item) => item.charAt(0),
    run: (items) => {
      batches.push(items);
      return run(items);
    },
    batchMax: 3,
  });
  return { batcher, batches };
}

describe('a batcher', () => {
  it('runs at once what comes alone, and together what comes meanwhile', async () => {
    const { batcher, batches } = recording();
    expect(await Promise.all(['a', 'b', 'c'].map((item) => batcher.add(item)))).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(batches).toEqual([['a'], ['b', 'c']]);
  });

  it('keeps two items of one key and what exceeds the limit for later batches', async () => {
    const { batcher, batches } = recording();
    await Promise.all(['a1', 'b1', 'b2', 'c1', 'd1', 'e1'].map((item) => batcher.add(item)));
    expect(batches).toEqual([['a1'], ['b1', 'c1', 'd1'], ['b2', 'e1']]);
  });

  it('tells each item of a batch that failed, and goes on', async () => {
    const { batcher } = recording((items) =>
      items.includes('bad') ? Promise.reject(new Error('no')) : Promise.resolve(items),
    );
    const results = await Promise.allSettled(['a', 'bad', 'c'].map((item) => batcher.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await batcher.add('d')).toBe('d');
  });
});
