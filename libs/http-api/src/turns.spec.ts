import { StoreUnavailable, TimeLimit, withTimeLimit } from '@pis/event-store';
import { RateLimited } from './rate-limit.js';
import { Turns } from './turns.js';

/** Work that ends when it is told to. */
function works() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: resolve, work: () => promise };
}

it('does one piece of work of an organization at a time, and those of others at once', async () => {
  const turns = new Turns({ atOnceMax: 1, sizeMax: 5 });
  const done: string[] = [];
  const first = works();
  const own = [
    turns.take('one', first.work).then(() => done.push('first')),
    turns.take('one', async () => done.push('second')),
  ];
  await turns.take('other', async () => done.push('other'));
  expect(done).toEqual(['other']);
  first.end();
  await Promise.all(own);
  expect(done.toSorted()).toEqual(['first', 'other', 'second']);
});

it('refuses what would wait too long, and goes on after work that failed', async () => {
  const turns = new Turns({ atOnceMax: 1, sizeMax: 2 });
  const first = works();
  const waits = [turns.take('one', first.work), turns.take('one', async () => 'second')];
  await expect(turns.take('one', async () => 'third')).rejects.toThrow(RateLimited);
  first.end();
  expect(await Promise.all(waits)).toEqual([undefined, 'second']);
  await expect(turns.take('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.take('one', async () => 'again')).toBe('again');
});

it('does as many pieces at once as it may, and the rest in order', async () => {
  const turns = new Turns({ atOnceMax: 2, sizeMax: 10 });
  const begun: number[] = [];
  const pieces = [0, 1, 2, 3].map((number) => ({ number, ...works() }));
  const all = pieces.map(({ number, work }) =>
    turns.take('one', () => {
      begun.push(number);
      return work();
    }),
  );
  expect(begun).toEqual([0, 1]);
  pieces[1]?.end();
  await all[1];
  expect(begun).toEqual([0, 1, 2]);
  for (const { end } of pieces) end();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3]);
});

it('does not begin work of a request that has run out of time', async () => {
  const turns = new Turns({ atOnceMax: 1, sizeMax: 5 });
  const first = works();
  const limit = new TimeLimit();
  let isBegun = false;
  const running = turns.take('one', first.work);
  const late = withTimeLimit(limit, () => turns.take('one', async () => (isBegun = true)));
  limit.end();
  first.end();
  await running;
  await expect(late).rejects.toThrow(StoreUnavailable);
  expect(isBegun).toBe(false);
});
