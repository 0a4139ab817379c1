import { RateLimited } from '@pis/http-api';
import { Turns } from './turns.js';

/** Work that ends when it is told to. */
function works() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: resolve, work: () => promise };
}

it('does one piece of work of an organization at a time, and those of others at once', async () => {
  const turns = new Turns(5);
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
  const turns = new Turns(2);
  const first = works();
  const waits = [turns.take('one', first.work), turns.take('one', async () => 'second')];
  await expect(turns.take('one', async () => 'third')).rejects.toThrow(RateLimited);
  first.end();
  expect(await Promise.all(waits)).toEqual([undefined, 'second']);
  await expect(turns.take('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.take('one', async () => 'again')).toBe('again');
});
