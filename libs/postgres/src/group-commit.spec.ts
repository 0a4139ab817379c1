import { GroupCommit, type GroupCommitOptions } from './group-commit.js';
import { isDataError } from './transient-errors.js';

type Options = Partial<GroupCommitOptions<string, string>>;

/** Writes nothing, keeps the batches, and answers each item in capital letters. */
function recording(
  options: Options = {},
  fails: (batch: readonly string[]) => Error | null = () => null,
) {
  const batches: string[][] = [];
  const commits = new GroupCommit<string, string>({
    write: async (items) => {
      batches.push([...items]);
      await new Promise((resolve) => setImmediate(resolve));
      const error = fails(items);
      if (error !== null) throw error;
      return items.map((item) => item.toUpperCase());
    },
    batchMax: 3,
    isItemsFault: isDataError,
    ...options,
  });
  const addAll = (...items: string[]) => Promise.all(items.map((item) => commits.add(item)));
  const settleAll = async (...items: string[]) => {
    const outcomes = await Promise.allSettled(items.map((item) => commits.add(item)));
    return outcomes.map(({ status }) => status);
  };
  return { batches, commits, addAll, settleAll };
}

const dataError = Object.assign(new Error('bad'), { code: '22021' });

describe('a group commit', () => {
  it('writes what arrives together in one batch and answers each item', async () => {
    const { batches, addAll } = recording();
    expect(await addAll('a', 'b', 'c')).toEqual(['A', 'B', 'C']);
    expect(batches).toEqual([['a', 'b', 'c']]);
  });

  it('writes what arrives during a batch together in the next one', async () => {
    let arrive: () => void = () => undefined;
    const options: Options = {
      write: (items) => {
        batches.push(items);
        arrive();
        return Promise.resolve(items);
      },
    };
    const batches: (readonly string[])[] = [];
    const { commits } = recording(options);
    const during = new Promise((resolve) => {
      arrive = () => {
        arrive = () => undefined;
        resolve(Promise.all([commits.add('b'), commits.add('c')]));
      };
    });
    await commits.add('a');
    expect(await during).toEqual(['b', 'c']);
    expect(batches).toEqual([['a'], ['b', 'c']]);
  });

  it('keeps a batch to its limit of items, the oldest items first', async () => {
    const { batches, addAll } = recording();
    await addAll('a', 'b', 'c', 'd');
    expect(batches).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it('keeps a batch to its limit of bytes, and writes a larger item alone', async () => {
    const { batches, addAll } = recording({ bytes: { batchMax: 4, of: ({ length }) => length } });
    await addAll('aaa', 'bb', 'cccccc', 'd');
    expect(batches).toEqual([['aaa'], ['bb'], ['cccccc'], ['d']]);
  });

  it('keeps two items of one key out of one batch, and in their order', async () => {
    const { batches, addAll } = recording({ keyOf: (item) => item.charAt(0) });
    await addAll('a1', 'a2', 'b1', 'a3', 'b2');
    expect(batches).toEqual([['a1', 'b1'], ['a2', 'b2'], ['a3']]);
  });

  it('does not write an item that is refused when its turn comes', async () => {
    const over = new Set<string>();
    const { batches, commits } = recording({
      refusalOf: (item) => (over.has(item) ? new Error('too late') : null),
    });
    const first = commits.add('a');
    const [second, third] = [commits.add('b'), commits.add('c')];
    over.add('b');
    await expect(second).rejects.toThrow('too late');
    expect(await Promise.all([first, third])).toEqual(['A', 'C']);
    expect(batches).toEqual([['a', 'c']]);
  });

  it('fails only the item whose data the database refuses', async () => {
    const { settleAll } = recording({}, (items) => (items.includes('bad') ? dataError : null));
    expect(await settleAll('a', 'bad', 'c')).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails the whole batch for any other reason, once, and goes on', async () => {
    let isAway = true;
    const { batches, commits, settleAll } = recording({}, () =>
      isAway ? new Error('away') : null,
    );
    expect(await settleAll('a', 'b')).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
    isAway = false;
    expect(await commits.add('a')).toBe('A');
  });

  it('fails every item of a batch that was answered for fewer items', async () => {
    const { settleAll } = recording({ write: () => Promise.resolve(['A']) });
    expect(await settleAll('a', 'b')).toEqual(['rejected', 'rejected']);
  });

  it('is idle once everything that was added is settled', async () => {
    const { commits, addAll } = recording();
    const added = addAll('a', 'b', 'c', 'd');
    expect(commits.waiting).toBe(4);
    await commits.idle();
    expect(commits.waiting).toBe(0);
    expect(await added).toHaveLength(4);
    await commits.idle();
  });
});
