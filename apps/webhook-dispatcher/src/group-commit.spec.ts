import { GroupCommit, isDataError } from './group-commit.js';

const options = { batchMax: 3, isItemsFault: isDataError };

function recording(fail: (items: readonly number[]) => Error | null = () => null) {
  const batches: number[][] = [];
  const commit = new GroupCommit(async (items: readonly number[]) => {
    batches.push([...items]);
    await Promise.resolve();
    const error = fail(items);
    if (error) throw error;
    return items.map((item) => item * 10);
  }, options);
  return { batches, commit };
}

const dataError = Object.assign(new Error('bad'), { code: '22021' });

describe('Writers that come together share a statement', () => {
  it('of bounded size, and each gets the answer to its own item', async () => {
    const { batches, commit } = recording();
    const results = await Promise.all([1, 2, 3, 4].map((item) => commit.add(item)));
    expect(results).toEqual([10, 20, 30, 40]);
    expect(batches).toEqual([[1, 2, 3], [4]]);
    expect(await commit.add(5)).toBe(50);
  });

  it('all fail when the statement does, and may try again', async () => {
    let isAway = true;
    const { commit } = recording(() => (isAway ? new Error('away') : null));
    const results = await Promise.allSettled([commit.add(1), commit.add(2)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isAway = false;
    expect(await commit.add(1)).toBe(10);
  });

  it('do not suffer from one whose data the database refuses', async () => {
    const { commit } = recording((items) => (items.includes(2) ? dataError : null));
    const results = await Promise.allSettled([1, 2, 3].map((item) => commit.add(item)));
    expect(results).toEqual([
      { status: 'fulfilled', value: 10 },
      { status: 'rejected', reason: dataError },
      { status: 'fulfilled', value: 30 },
    ]);
  });
});
