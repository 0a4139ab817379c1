import { jest } from '@jest/globals';
import { NonRetryable } from './errors.js';
import { away, scene, settled, submit, unused } from './testing/lanes-scene.js';

describe('lanes', () => {
  it('handle different keys at once and one key in order', async () => {
    const { lanes, started, end } = scene();
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    submit(run, 'b', '3');
    expect(started).toEqual(['1', '3']);
    await end('1');
    expect(started).toEqual(['1', '3', '2']);
  });

  it('run no more handlers than the limit, and start the next one when one ends', async () => {
    const { lanes, started, end } = scene({ concurrencyMax: 2 });
    const run = lanes.open('r', unused);
    for (const value of ['1', '2', '3']) submit(run, value, value);
    expect(started).toEqual(['1', '2']);
    await end('2');
    expect(started).toEqual(['1', '2', '3']);
  });

  it('move the position over the contiguous prefix only', async () => {
    const { lanes, end } = scene();
    const advanced: number[] = [];
    const run = lanes.open('r', (count) => advanced.push(count));
    for (const value of ['1', '2', '3']) submit(run, value, value);
    run.mark('9');
    expect(run.position).toBeNull();
    await end('2');
    await end('3');
    expect(run.position).toBeNull();
    await end('1');
    expect(run.position).toBe('9');
    expect(advanced).toEqual([4]);
  });

  it('stop at the last whole log entry when an entry has several messages', async () => {
    const { lanes, end } = scene();
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    run.submit({ topic: 't', key: 'b', value: '2', headers: {}, offset: '5' }, null);
    submit(run, 'c', '3', '5');
    await end('1');
    await end('2');
    expect(run.position).toBe('1');
    await end('3');
    expect(run.position).toBe('5');
  });

  it('back off a failing key exponentially while others go on, even with a single handler slot', async () => {
    const { lanes, started, waiting, end, passTime } = scene({
      concurrencyMax: 1,
      backoffInitialMs: 100,
      backoffMaxMs: 300,
    });
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    submit(run, 'b', '3');
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

  it('park a message after the last attempt and go on with its key', async () => {
    const { lanes, started, parked, end, passTime } = scene({ attemptsMax: 2 });
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    await end('1', new Error('no'));
    await passTime();
    await end('1', new Error('no'));
    expect(parked).toEqual(['1']);
    expect(started).toEqual(['1', '1#2', '2']);
    expect(run.position).toBe('1');
  });

  it('park at once what the handler calls not retryable, whatever caused it', async () => {
    const { lanes, parked, end } = scene();
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    await end('1', new NonRetryable('unreadable', { cause }));
    expect(parked).toEqual(['1']);
  });

  it('never park while a dependency is away, and start counting only then', async () => {
    const { lanes, parked, end, passTime } = scene({ attemptsMax: 2 });
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
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

  it('tell how long the oldest message that is not done has been here', async () => {
    const { lanes, clock, end } = scene();
    const run = lanes.open('r', unused);
    expect(run.oldestUnfinishedMs).toBe(0);
    submit(run, 'a', '1');
    clock.nowMs = 300;
    submit(run, 'b', '2');
    clock.nowMs = 500;
    expect(run.oldestUnfinishedMs).toBe(500);
    await end('1');
    expect(run.oldestUnfinishedMs).toBe(200);
    await end('2');
    expect(run.oldestUnfinishedMs).toBe(0);
  });

  it('tell of each failed attempt and its cause', async () => {
    const failed: string[] = [];
    const { lanes, end, passTime } = scene(
      {},
      {
        observe: {
          failed: ({ key, attempt }, error) => failed.push(`${key} ${attempt} ${String(error)}`),
        },
      },
    );
    submit(lanes.open('r', unused), 'a', '1');
    await end('1', new Error('first'));
    await passTime();
    await end('1', new Error('second'));
    expect(failed).toEqual(['a 1 Error: first', 'a 2 Error: second']);
  });

  it('try parking again when it fails, and keep the position behind the message until then', async () => {
    const problems: string[] = [];
    let failures = 2;
    const { lanes, end, passTime } = scene(
      { attemptsMax: 1 },
      {
        park: () => (failures-- > 0 ? Promise.reject(new Error('full')) : Promise.resolve()),
        observe: { problem: (doing) => problems.push(doing) },
      },
    );
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    await end('1', new Error('no'));
    await passTime();
    expect(run.position).toBeNull();
    await passTime();
    expect(run.position).toBe('1');
    expect(problems).toEqual(['parking a message', 'parking a message']);
  });

  it('go on although an observer fails', async () => {
    const fails = () => {
      throw new Error('no such label');
    };
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const { lanes, end } = scene(
      { attemptsMax: 1 },
      { observe: { handled: fails, parked: fails } },
    );
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    await end('1', new Error('no'));
    await end('2');
    expect(run.position).toBe('2');
    expect(warned).toHaveBeenCalledTimes(3);
    warned.mockRestore();
  });

  it('tell the reader to pause at a full window and to go on at half of it', async () => {
    const { lanes, end } = scene({ inFlightMax: 4 });
    const run = lanes.open('r', unused);
    for (const value of ['1', '2', '3', '4']) submit(run, value, value);
    expect(run.full).toBe(true);
    let resumed = false;
    void run.room().then(() => {
      resumed = true;
    });
    await end('4');
    expect(resumed).toBe(false);
    await end('3');
    expect(resumed).toBe(true);
  });

  it('pause the reader, too, when much is done behind a message that is not', async () => {
    const { lanes, end } = scene({ uncommittedMax: 3 });
    const run = lanes.open('r', unused);
    for (const value of ['1', '2', '3']) submit(run, value, value);
    await end('2');
    await end('3');
    expect(run.full).toBe(true);
    await end('1');
    expect(run.full).toBe(false);
  });

  it('wake the reader although most of what was read is done behind a message that hangs', async () => {
    const { lanes, end } = scene({ concurrencyMax: 10, inFlightMax: 6, uncommittedMax: 10 });
    const run = lanes.open('r', unused);
    for (const value of ['1', '2', '3', '4', '5', '6', '7']) submit(run, value, value);
    let resumed = false;
    void run.room().then(() => {
      resumed = true;
    });
    for (const value of ['2', '3', '4', '5', '6', '7']) await end(value);
    expect(run.full).toBe(false);
    expect(resumed).toBe(true);
  });

  it('do not hold up the reader of a full run that was abandoned', async () => {
    const { lanes } = scene({ inFlightMax: 1 });
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    run.abandon();
    await run.room();
    expect(run.abandoned).toBe(true);
  });

  it('do not count what an abandoned run still finishes, nor start the rest of it', async () => {
    const { lanes, started, end } = scene();
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    run.abandon();
    await end('1');
    expect(run.position).toBeNull();
    expect(started).toEqual(['1']);
  });

  it('wait, when a run comes back, for the handler of the same key that still runs', async () => {
    const { lanes, started, end } = scene();
    const before = lanes.open('r', unused);
    submit(before, 'a', 'old');
    before.abandon();
    const after = lanes.open('r', unused);
    submit(after, 'a', 'new');
    expect(started).toEqual(['old']);
    await end('old');
    expect(started).toEqual(['old', 'new']);
    await end('new');
    expect(after.position).toBe('new');
  });

  it('end a backoff at once when its run is abandoned', async () => {
    const { lanes, started, end } = scene();
    const before = lanes.open('r', unused);
    submit(before, 'a', 'old');
    await end('old', new Error('no'));
    before.abandon();
    const after = lanes.open('r', unused);
    submit(after, 'a', 'new');
    await settled();
    expect(started).toEqual(['old', 'new']);
  });

  it('stop by finishing what runs and starting nothing more', async () => {
    const { lanes, started, end } = scene();
    const run = lanes.open('r', unused);
    submit(run, 'a', '1');
    submit(run, 'a', '2');
    const stopped = lanes.stop(1_000);
    await end('1');
    expect(await stopped).toBe(true);
    expect(started).toEqual(['1']);
    expect(run.position).toBe('1');
  });

  it('give up waiting for a handler that does not end in time', async () => {
    const { lanes, passTime } = scene();
    submit(lanes.open('r', unused), 'a', '1');
    const stopped = lanes.stop(1_000);
    await passTime();
    expect(await stopped).toBe(false);
  });
});
