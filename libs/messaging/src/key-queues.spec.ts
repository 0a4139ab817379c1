import { jest } from '@jest/globals';
import { NonRetryable } from './errors.js';
import { away, scene, settled, submit, unused } from './testing/key-queues-scene.js';

describe('key queues', () => {
  it('handle different keys at once and one key in order', async () => {
    const { queues, started, end } = scene();
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    submit(partition, 'b', '3');
    expect(started).toEqual(['1', '3']);
    await end('1');
    expect(started).toEqual(['1', '3', '2']);
  });

  it('run no more handlers than the limit, and start the next one when one ends', async () => {
    const { queues, started, end } = scene({ concurrencyMax: 2 });
    const partition = queues.open('r', unused);
    for (const value of ['1', '2', '3']) submit(partition, value, value);
    expect(started).toEqual(['1', '2']);
    await end('2');
    expect(started).toEqual(['1', '2', '3']);
  });

  it('move the position over the contiguous prefix only', async () => {
    const { queues, end } = scene();
    const advanced: number[] = [];
    const partition = queues.open('r', (count) => advanced.push(count));
    for (const value of ['1', '2', '3']) submit(partition, value, value);
    partition.mark('9');
    expect(partition.position).toBeNull();
    await end('2');
    await end('3');
    expect(partition.position).toBeNull();
    await end('1');
    expect(partition.position).toBe('9');
    expect(advanced).toEqual([4]);
  });

  it('stop at the last whole log entry when an entry has several messages', async () => {
    const { queues, end } = scene();
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    partition.submit({ topic: 't', key: 'b', value: '2', headers: {}, offset: '5' }, null);
    submit(partition, 'c', '3', '5');
    await end('1');
    await end('2');
    expect(partition.position).toBe('1');
    await end('3');
    expect(partition.position).toBe('5');
  });

  it('leave nothing behind on their signals after a failed attempt', async () => {
    const { any } = AbortSignal;
    let made = 0;
    AbortSignal.any = (signals) => {
      made += 1;
      return any.call(AbortSignal, signals);
    };
    try {
      const { queues, started, end, passTime } = scene();
      const partition = queues.open('r', unused);
      submit(partition, 'a', '1');
      for (let round = 0; round < 3; round += 1) {
        await end('1', away());
        await passTime();
      }
      await end('1');
      expect(started).toEqual(['1', '1#2', '1#3', '1#4']);
      expect(made).toBe(0);
    } finally {
      AbortSignal.any = any;
    }
  });

  it('back off a failing key exponentially while others continue, even with a single handler slot', async () => {
    const { queues, started, waiting, end, passTime } = scene({
      concurrencyMax: 1,
      backoffInitialMs: 100,
      backoffMaxMs: 300,
    });
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    submit(partition, 'b', '3');
    await end('1', new Error('no'));
    expect(started).toEqual(['1', '3']);
    await end('3');
    const backoffs: number[] = [];
    for (let attempt = 2; attempt <= 4; attempt += 1) {
      backoffs.push(...waiting.map(({ ms }) => ms));
      await passTime();
      await end('1', new Error('no'));
    }
    backoffs.push(...waiting.map(({ ms }) => ms));
    expect(backoffs).toEqual([100, 200, 300, 300]);
    expect(started).toEqual(['1', '3', '1#2', '1#3', '1#4']);
  });

  it('do not retry together what failed together', async () => {
    const chances = [0, 0.75];
    const { queues, waiting, end } = scene(
      { backoffInitialMs: 100 },
      { random: () => chances.shift() ?? 1 },
    );
    const partition = queues.open('r', unused);
    for (const key of ['a', 'b', 'c']) submit(partition, key, key);
    for (const key of ['a', 'b', 'c']) await end(key, new Error('no'));
    expect(waiting.map(({ ms }) => Math.round(ms))).toEqual([90, 105, 110]);
  });

  it('park a message after the last attempt and go on with its key', async () => {
    const { queues, started, parked, end, passTime } = scene({ attemptsMax: 2 });
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    await end('1', new Error('no'));
    await passTime();
    await end('1', new Error('no'));
    expect(parked).toEqual(['1']);
    expect(started).toEqual(['1', '1#2', '2']);
    expect(partition.position).toBe('1');
  });

  it('park a message at once when the handler says that it cannot be retried, whatever the cause', async () => {
    const { queues, parked, end } = scene();
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    await end('1', new NonRetryable('unreadable', { cause }));
    expect(parked).toEqual(['1']);
  });

  it('never park while a dependency is unavailable, and start counting only after that', async () => {
    const { queues, parked, end, passTime } = scene({ attemptsMax: 2 });
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      await end('1', away());
      await passTime();
    }
    await end('1', new Error('no'));
    expect(parked).toEqual([]);
    await passTime();
    await end('1', new Error('no'));
    expect(parked).toEqual(['1']);
  });

  it('report the age of the oldest unfinished message', async () => {
    const { queues, clock, end } = scene();
    const partition = queues.open('r', unused);
    expect(partition.oldestUnfinishedMs).toBe(0);
    submit(partition, 'a', '1');
    clock.nowMs = 300;
    submit(partition, 'b', '2');
    clock.nowMs = 500;
    expect(partition.oldestUnfinishedMs).toBe(500);
    await end('1');
    expect(partition.oldestUnfinishedMs).toBe(200);
    await end('2');
    expect(partition.oldestUnfinishedMs).toBe(0);
  });

  it('report each failed attempt and its cause', async () => {
    const failed: string[] = [];
    const { queues, end, passTime } = scene(
      {},
      {
        observe: {
          failed: ({ key, attempt }, error) => failed.push(`${key} ${attempt} ${String(error)}`),
        },
      },
    );
    submit(queues.open('r', unused), 'a', '1');
    await end('1', new Error('first'));
    await passTime();
    await end('1', new Error('second'));
    expect(failed).toEqual(['a 1 Error: first', 'a 2 Error: second']);
  });

  it('retry parking that fails, and keep the position before the message until then', async () => {
    const problems: string[] = [];
    let failures = 2;
    const { queues, end, passTime } = scene(
      { attemptsMax: 1 },
      {
        park: () => (failures-- > 0 ? Promise.reject(new Error('full')) : Promise.resolve()),
        observe: { problem: (doing) => problems.push(doing) },
      },
    );
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    await end('1', new Error('no'));
    await passTime();
    expect(partition.position).toBeNull();
    await passTime();
    expect(partition.position).toBe('1');
    expect(problems).toEqual(['parking a message', 'parking a message']);
  });

  it('continue when an observer fails', async () => {
    const fails = () => {
      throw new Error('no such label');
    };
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const { queues, end } = scene(
      { attemptsMax: 1 },
      { observe: { handled: fails, parked: fails } },
    );
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    await end('1', new Error('no'));
    await end('2');
    expect(partition.position).toBe('2');
    expect(warned).toHaveBeenCalledTimes(3);
    warned.mockRestore();
  });

  it('pause the reader at a full window and resume it at half of it', async () => {
    const { queues, end } = scene({ inFlightMax: 4 });
    const partition = queues.open('r', unused);
    for (const value of ['1', '2', '3', '4']) submit(partition, value, value);
    expect(partition.full).toBe(true);
    let resumed = false;
    void partition.room().then(() => {
      resumed = true;
    });
    await end('4');
    expect(resumed).toBe(false);
    // Not full any more, and still not read: whoever watches the reader must not take it for stuck.
    expect([partition.full, partition.isPaused]).toEqual([false, true]);
    await end('3');
    expect(resumed).toBe(true);
    expect(partition.isPaused).toBe(false);
  });

  it('pause the reader also when much is done after an unfinished message', async () => {
    const { queues, end } = scene({ uncommittedMax: 3 });
    const partition = queues.open('r', unused);
    for (const value of ['1', '2', '3']) submit(partition, value, value);
    await end('2');
    await end('3');
    expect(partition.full).toBe(true);
    await end('1');
    expect(partition.full).toBe(false);
  });

  it('resume the reader although a message hangs and most messages after it are done', async () => {
    const { queues, end } = scene({ concurrencyMax: 10, inFlightMax: 6, uncommittedMax: 10 });
    const partition = queues.open('r', unused);
    for (const value of ['1', '2', '3', '4', '5', '6', '7']) submit(partition, value, value);
    let resumed = false;
    void partition.room().then(() => {
      resumed = true;
    });
    for (const value of ['2', '3', '4', '5', '6', '7']) await end(value);
    expect(partition.full).toBe(false);
    expect(resumed).toBe(true);
  });

  it('do not hold up the reader of a full partition that was abandoned', async () => {
    const { queues } = scene({ inFlightMax: 1 });
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    partition.abandon();
    await partition.room();
    expect(partition.abandoned).toBe(true);
  });

  it('ignore messages that an abandoned partition still finishes, and start no more of it', async () => {
    const { queues, started, end } = scene();
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    partition.abandon();
    await end('1');
    expect(partition.position).toBeNull();
    expect(started).toEqual(['1']);
  });

  it('wait, when a partition comes back, for the handler of the same key that still runs', async () => {
    const { queues, started, end } = scene();
    const before = queues.open('r', unused);
    submit(before, 'a', 'old');
    before.abandon();
    const after = queues.open('r', unused);
    submit(after, 'a', 'new');
    expect(started).toEqual(['old']);
    await end('old');
    expect(started).toEqual(['old', 'new']);
    await end('new');
    expect(after.position).toBe('new');
  });

  it('end a backoff at once when its partition is abandoned', async () => {
    const { queues, started, end } = scene();
    const before = queues.open('r', unused);
    submit(before, 'a', 'old');
    await end('old', new Error('no'));
    before.abandon();
    const after = queues.open('r', unused);
    submit(after, 'a', 'new');
    await settled();
    expect(started).toEqual(['old', 'new']);
  });

  it('stop: finish the running handlers and start no more', async () => {
    const { queues, started, end } = scene();
    const partition = queues.open('r', unused);
    submit(partition, 'a', '1');
    submit(partition, 'a', '2');
    const stopped = queues.stop(1_000);
    await end('1');
    expect(await stopped).toBe(true);
    expect(started).toEqual(['1']);
    expect(partition.position).toBe('1');
  });

  it('give up waiting for a handler that does not end in time', async () => {
    const { queues, passTime } = scene();
    submit(queues.open('r', unused), 'a', '1');
    const stopped = queues.stop(1_000);
    await passTime();
    expect(await stopped).toBe(false);
  });
});
