/**
 * What every transport must do, tested on a real one: `messagingConformance(name, createHarness)`.
 * Handlers are bound as Nest binds them, by addHandler.
 */
import { until } from '@pis/local-servers/testing';
import { NonRetryable } from '../errors.js';
import { MessageContext } from '../message-context.js';
import { deferralTests } from './conformance-deferral.js';
import { gate, type MessagingHarness, sees, Stage, timeoutMs } from './stage.js';

const noCommit = { commitIntervalMs: 3_600_000, commitCountMax: 1_000_000 };

export function messagingConformance(
  name: string,
  createHarness: () => Promise<MessagingHarness>,
): void {
  describe(`${name}, as every transport`, () => {
    let harness: MessagingHarness;
    let stage: Stage;
    beforeAll(async () => {
      harness = await createHarness();
    });
    afterAll(() => harness.close());
    afterEach(() => stage.close());
    const create = async (partitions = 1) => {
      stage = await Stage.create(harness, partitions);
      return stage;
    };
    orderTests(create);
    commitTests(create);
    failureTests(create);
    deadLetterTests(create);
    deferralTests(create);
  });
}

type Create = (partitions?: number) => Promise<Stage>;

function orderTests(create: Create): void {
  it('gives a handler the value, the key, the headers and the number of the attempt', async () => {
    const stage = await create();
    await stage.harness.publish([
      {
        topic: stage.topic,
        key: 'payment-1',
        value: '"ä€😀"',
        headers: { traceparent: '00-1-2-01', 'event-id': 'e1' },
      },
    ]);
    const seen = stage.consume(() => undefined);
    await sees(seen, 1);
    expect(seen.values).toEqual(['ä€😀']);
    expect(seen.deliveries).toEqual([
      {
        topic: stage.topic,
        key: 'payment-1',
        value: '"ä€😀"',
        headers: { traceparent: '00-1-2-01', 'event-id': 'e1' },
        offset: expect.any(String) as string,
        attempt: 1,
      },
    ]);
  });

  it('handles different keys at once', async () => {
    const stage = await create();
    const all = gate();
    await stage.publish('a:1', 'b:1', 'c:1', 'd:1');
    const seen = stage.consume(async () => {
      if (seen.values.length === 4) all.open();
      await all.opened;
    });
    await stage.untilCommitted(4);
  });

  it('handles the messages of one key in order, whatever time each takes', async () => {
    const stage = await create(3);
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const items = Array.from({ length: 20 }, (_, n) => keys.map((key) => `${key}:${n}`)).flat();
    await stage.publish(...items);
    const running = new Set<string>();
    const seen = stage.consume(async (_value, { key }) => {
      if (running.has(key)) throw new NonRetryable('two of a key at once');
      running.add(key);
      for (let turns = seen.values.length % 7; turns > 0; turns -= 1) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      running.delete(key);
    });
    await stage.untilCommitted(items.length);
    for (const key of keys) {
      expect(seen.values.filter((value) => value.startsWith(`${key}:`))).toEqual(
        items.filter((item) => item.startsWith(`${key}:`)),
      );
    }
    expect(await stage.parked()).toEqual([]);
  });

  it('gives each message to every group, and to all handlers of a group', async () => {
    const stage = await create();
    await stage.publish('a:1');
    const first = stage.consume(() => undefined);
    const both: string[] = [];
    const second = stage.harness.createConsumer({ group: `${stage.group}-2` });
    for (const handler of ['x', 'y']) {
      const handle = () => Promise.resolve(void both.push(handler));
      second.addHandler(stage.topic, handle as never, true);
    }
    second.listen(() => undefined);
    await sees(first, 1);
    await until(() => both.length === 2, { timeoutMs });
    await second.close();
    expect(both.sort()).toEqual(['x', 'y']);
  });
}

function commitTests(create: Create): void {
  it('commits only the contiguous prefix: messages behind an unfinished one are repeated after a crash', async () => {
    const stage = await create();
    const never = gate();
    await stage.publish('a:1', 'b:1', 'c:1');
    const first = stage.consume((value) => (value === 'b:1' ? never.opened : undefined));
    await sees(first, 3);
    await stage.untilCommitted(1);
    await first.strategy.abandon();
    expect(await stage.committed()).toBe(1);
    const second = stage.consume(() => undefined);
    await stage.untilCommitted(3);
    expect(second.values.sort()).toEqual(['b:1', 'c:1']);
    never.open();
  });

  it('repeats messages that were handled but not committed when the process died', async () => {
    const stage = await create(3);
    const items = Array.from({ length: 30 }, (_, n) => `k${n % 10}:${n}`);
    await stage.publish(...items);
    const first = stage.consume(() => undefined, noCommit);
    await sees(first, items.length);
    await first.strategy.abandon();
    expect(await stage.committed()).toBe(0);
    const second = stage.consume(() => undefined);
    await stage.untilCommitted(items.length);
    expect(second.values.sort()).toEqual(items.sort());
  });

  it('commits when it closes, so that a restart delivers nothing twice', async () => {
    const stage = await create(3);
    await stage.publish('a:1', 'b:1', 'c:1');
    const first = stage.consume(() => undefined, noCommit);
    await sees(first, 3);
    await first.strategy.close();
    const second = stage.consume(() => undefined);
    await stage.publish('a:2');
    await stage.untilCommitted(4);
    expect(second.values).toEqual(['a:2']);
  });

  it('waits for the running handler when it closes, and does not start the next', async () => {
    const stage = await create();
    const work = gate();
    await stage.publish('a:1', 'a:2');
    const seen = stage.consume(() => work.opened);
    await sees(seen, 1);
    const closing = seen.strategy.close();
    work.open();
    await closing;
    expect(seen.values).toEqual(['a:1']);
    expect(await stage.committed()).toBe(1);
  });

  it('survives a backlog larger than its window', async () => {
    const stage = await create(3);
    const items = Array.from({ length: 500 }, (_, n) => `k${n % 50}:${n}`);
    for (let from = 0; from < items.length; from += 20) {
      await stage.publish(...items.slice(from, from + 20));
    }
    const seen = stage.consume(() => new Promise((resolve) => setImmediate(resolve)), {
      inFlightMax: 10,
      concurrencyMax: 4,
    });
    await stage.untilCommitted(items.length);
    expect(seen.values.sort()).toEqual(items.sort());
  });
}

function failureTests(create: Create): void {
  it('retries a failing message without holding up other keys', async () => {
    const stage = await create();
    await stage.publish('a:1', 'a:2', 'b:1', 'c:1');
    const others = gate();
    const seen = stage.consume(
      async (value, { attempt }) => {
        if (value === 'a:1' && attempt === 1) throw new Error('not yet');
        // The second attempt succeeds only once the other keys are done.
        if (value === 'a:1') await others.opened;
        if (seen.values.includes('b:1') && seen.values.includes('c:1')) others.open();
      },
      { concurrencyMax: 2 },
    );
    await stage.untilCommitted(4);
    expect(seen.values.filter((value) => value.startsWith('a'))).toEqual(['a:1', 'a:1', 'a:2']);
    expect(await stage.parked()).toEqual([]);
  });

  it('never parks a message while a dependency is unavailable', async () => {
    const stage = await create();
    await stage.publish('a:1');
    const seen = stage.consume(
      (_value, { attempt }) => {
        if (attempt <= 10) {
          throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
        }
      },
      { attemptsMax: 2, backoffInitialMs: 1 },
    );
    await stage.untilCommitted(1);
    expect(seen.values).toHaveLength(11);
    expect(await stage.parked()).toEqual([]);
  });
}

function deadLetterTests(create: Create): void {
  it('parks a message after the last attempt with its error, and continues with its key', async () => {
    const stage = await create();
    await stage.publish('a:1', 'a:2');
    const seen = stage.consume(
      (value) => {
        if (value === 'a:1') throw new RangeError('cannot do this one');
      },
      { attemptsMax: 3 },
    );
    await stage.untilCommitted(2);
    expect(seen.values).toEqual(['a:1', 'a:1', 'a:1', 'a:2']);
    expect(await stage.parked()).toEqual([
      { value: '"a:1"', error: 'RangeError: cannot do this one' },
    ]);
  });

  it('parks a message at once when no retry can help', async () => {
    const stage = await create();
    await stage.publish('a:1');
    const seen = stage.consume(() => {
      throw new NonRetryable('unknown currency');
    });
    await stage.untilCommitted(1);
    expect(seen.values).toHaveLength(1);
    expect(await stage.parked()).toHaveLength(1);
  });

  it('parks a message that is not JSON without showing it to the handler', async () => {
    const stage = await create();
    const message = { topic: stage.topic, key: 'a', headers: {} };
    await stage.harness.publish([
      { ...message, value: '{"half":' },
      { ...message, value: '' },
      { ...message, value: '"a:3"' },
    ]);
    const seen = stage.consume(() => undefined);
    await stage.untilCommitted(3);
    expect(seen.values).toEqual(['a:3']);
    expect((await stage.parked()).map(({ value }) => value)).toEqual(['{"half":', '']);
  });

  it('replays parked messages to the group that gave up on them, and to no other', async () => {
    const stage = await create();
    let mended = false;
    await stage.publish('a:1', 'b:1');
    const failing = stage.consume(
      (value) => {
        if (value === 'a:1' && !mended) throw new NonRetryable('a bug');
      },
      { group: stage.group },
    );
    const other = stage.consume(() => undefined, { group: `${stage.group}-2` });
    await until(async () => (await stage.parked()).length === 1, { timeoutMs });
    await sees(other, 2);
    mended = true;
    await stage.harness.replay(stage.group, stage.topic);
    await until(() => failing.values.filter((value) => value === 'a:1').length === 2, {
      timeoutMs,
    });
    const again = failing.deliveries.filter(({ headers }) => headers['event-id'] === 'a:1');
    const [first = null, replayed = null] = again.map((delivery) =>
      new MessageContext([delivery]).waitingSince(),
    );
    expect(again).toHaveLength(2);
    expect(first).toBeNull();
    expect(replayed).toBeInstanceOf(Date);
    // A message that follows has been seen: so would have been the replayed one.
    await stage.publish('a:2');
    await until(() => other.values.includes('a:2'), { timeoutMs });
    expect(other.values).toEqual(['a:1', 'b:1', 'a:2']);
  });

  it('parks a replayed message again when it fails again', async () => {
    const stage = await create();
    await stage.publish('a:1');
    const seen = stage.consume(() => {
      throw new NonRetryable('still a bug');
    });
    await until(async () => (await stage.parked()).length === 1, { timeoutMs });
    await stage.harness.replay(stage.group, stage.topic);
    await sees(seen, 2);
    await until(async () => (await stage.parked()).length >= 1, { timeoutMs });
    await stage.harness.replay(stage.group, stage.topic);
    await sees(seen, 3);
  });
}
