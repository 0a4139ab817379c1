import { away, scene, settled, submit, unused } from './testing/key-queues-scene.js';

describe('key queues with a retry table', () => {
  it('defer a message that keeps failing while others succeed, and the later messages of its key', async () => {
    const { queues, started, deferred, clock, end, passTime } = scene({ deferAfterMs: 1_000 });
    const partition = queues.open('r', unused);
    for (const value of ['1', '2']) submit(partition, 'a', value);
    submit(partition, 'b', '3');
    await end('1', away());
    await end('3');
    clock.nowMs = 999;
    await passTime();
    await end('1', away());
    expect(deferred).toEqual([]);
    submit(partition, 'b', '4');
    await end('4');
    clock.nowMs = 1_000;
    await passTime();
    await end('1', away());
    expect(deferred).toEqual(['a 1', 'a 2']);
    expect(started).toEqual(['1', '3', '1#2', '4', '1#3']);
    expect(partition.position).toBe('4');
    submit(partition, 'a', '5');
    submit(partition, 'c', '6');
    await settled();
    expect(deferred).toEqual(['a 1', 'a 2', 'a 5']);
    expect(started.at(-1)).toBe('6');
  });

  it('defer nothing while everything fails, however long', async () => {
    const { queues, deferred, parked, clock, end, passTime } = scene({ deferAfterMs: 1_000 });
    const partition = queues.open('r', unused);
    for (const value of ['0', '1', '2']) submit(partition, value, value);
    await end('0');
    for (let round = 1; round <= 20; round += 1) {
      for (const value of ['1', '2']) await end(value, away());
      clock.nowMs += 60_000;
      await passTime();
    }
    for (const value of ['1', '2']) await end(value);
    expect({ deferred, parked, position: partition.position }).toEqual({
      deferred: [],
      parked: [],
      position: '2',
    });
  });

  it('retry a message that cannot be deferred, and keep the position before it', async () => {
    const problems: string[] = [];
    const fails = () => Promise.reject(new Error('no table'));
    const { queues, started, clock, end, passTime } = scene(
      { deferAfterMs: 0 },
      {
        deferral: { mayHold: false, follow: fails, defer: fails, recheck: unused },
        observe: { problem: (doing) => problems.push(doing) },
      },
    );
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    for (const value of ['2', '3']) {
      await end('1', away());
      submit(partition, value, value);
      await end(value);
      await passTime();
      clock.nowMs += 1;
    }
    expect(problems).toEqual(['deferring a message']);
    expect(partition.position).toBeNull();
    await end('1');
    expect(started).toEqual(['1', '2', '1#2', '3', '1#3']);
    expect(partition.position).toBe('3');
  });

  it('start no handler before the retry table was read', async () => {
    let isAway = true;
    const problems: string[] = [];
    const { queues, started, end, passTime } = scene(
      {},
      {
        deferral: {
          mayHold: true,
          follow: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(false)),
          defer: () => Promise.resolve(),
          recheck: unused,
        },
        observe: { problem: (doing) => problems.push(doing) },
      },
    );
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    await passTime();
    await passTime();
    expect(started).toEqual([]);
    expect(problems.slice(0, 2)).toEqual(Array(2).fill('looking into the retry table'));
    isAway = false;
    await passTime();
    await end('1');
    expect(partition.position).toBe('1');
  });
});
