import { StoreUnavailable } from '../port.js';
import { TimeLimit, withTimeLimit } from '../time-limit.js';
import { StreamLoader } from './stream-loader.js';

/** Answers each query when the test says so. */
function manual(limits = { queryStreamsMax: 3, queriesInFlightMax: 1 }) {
  const queries: { readonly ids: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  const loader = new StreamLoader(
    (parts) =>
      new Promise((resolve, reject) => {
        const ids = parts.map(({ streamId, from }) =>
          from === 0 ? streamId : `${streamId}@${from}`,
        );
        queries.push({ ids, end: (error) => (error ? reject(error) : resolve(new Map())) });
      }),
    limits,
  );
  const load = (streamId: string, from = 0) => loader.load({ streamId, from, maxCount: null });
  return { queries, load, asked: () => queries.map(({ ids }) => ids) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('reading streams together', () => {
  it('sends one query for all reads of the same turn, with each stream once', async () => {
    const { load, queries, asked } = manual();
    const loads = Promise.all(['a', 'b', 'a'].map((id) => load(id)));
    await turn();
    expect(asked()).toEqual([['a', 'b']]);
    queries[0]?.end();
    expect(await loads).toEqual([[], [], []]);
  });

  it('reads parts of a stream with different beginnings separately', async () => {
    const { load, queries, asked } = manual();
    const loads = Promise.all([load('a'), load('a', 7), load('a', 7)]);
    await turn();
    expect(asked()).toEqual([['a', 'a@7']]);
    queries[0]?.end();
    expect(await loads).toEqual([[], [], []]);
  });

  it('keeps to the largest query and to the queries in flight', async () => {
    const { load, queries, asked } = manual();
    const loads = Promise.all(['a', 'b', 'c', 'd'].map((id) => load(id)));
    await turn();
    await turn();
    expect(asked()).toEqual([['a', 'b', 'c']]);
    queries[0]?.end();
    await turn();
    await turn();
    expect(asked()).toEqual([['a', 'b', 'c'], ['d']]);
    queries[1]?.end();
    await loads;
  });

  it('reads a stream again for callers after a query was sent', async () => {
    const { load, queries, asked } = manual({ queryStreamsMax: 3, queriesInFlightMax: 2 });
    const first = load('a');
    await turn();
    const second = load('a');
    await turn();
    expect(asked()).toEqual([['a'], ['a']]);
    for (const { end } of queries) end();
    await Promise.all([first, second]);
  });

  it('fails the callers of a failed query, and continues', async () => {
    const { load, queries } = manual();
    const failing = load('a');
    await turn();
    queries[0]?.end(new StoreUnavailable('down'));
    await expect(failing).rejects.toBeInstanceOf(StoreUnavailable);
    const working = load('a');
    await turn();
    queries[1]?.end();
    expect(await working).toEqual([]);
  });

  it('does not read streams that no caller waits for any more', async () => {
    const { load, queries, asked } = manual();
    const first = load('a');
    await turn();
    const over = new TimeLimit();
    const abandoned = withTimeLimit(over, () =>
      Promise.allSettled(['b', 'c', 'd'].map((id) => load(id))),
    );
    const wanted = [load('c'), load('e')];
    over.end();
    queries[0]?.end();
    await turn();
    await turn();
    expect(asked()).toEqual([['a'], ['c', 'e']]);
    queries[1]?.end();
    expect(await Promise.all([first, ...wanted])).toEqual([[], [], []]);
    const reason = expect.any(StoreUnavailable) as unknown;
    expect(await abandoned).toMatchObject([{ reason }, { status: 'fulfilled' }, { reason }]);
  });
});
