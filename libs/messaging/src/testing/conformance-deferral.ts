/** The part of the conformance suite about messages that keep failing while others succeed. */
import { until } from '@pis/local-servers/testing';
import type { ConsumerProgress } from '../attempts.js';
import type { ConsumerOptions } from '../consumer.server.js';
import { NonRetryable } from '../errors.js';
import { MessageContext } from '../message-context.js';
import { gate, sees, type Seen, type Stage, timeoutMs } from './stage.js';

/** Deferred quickly and retried quickly. */
const quick: Partial<ConsumerOptions> = {
  deferAfterMs: 50,
  retryInitialMs: 5,
  retryMaxMs: 20,
  retryPollMs: 10,
  idlePollMs: 10,
};

export function deferralTests(create: (partitions?: number) => Promise<Stage>): void {
  orderTests(create);
  outcomeTests(create);

  it('reports lag and age by the clock while a handler hangs and nothing is committed', async () => {
    const stage = await create();
    const hangs = gate();
    const reports: ConsumerProgress[] = [];
    await stage.publish('a:1', 'a:2');
    const seen = stage.consume(() => hangs.opened, {
      progressIntervalMs: 10,
      observe: { progress: (progress) => reports.push(progress) },
    });
    await sees(seen, 1);
    await until(() => reports.some(({ lag }) => lag === 2), { timeoutMs });
    const firstMs = reports.at(-1)?.oldestUnfinishedMs ?? 0;
    await until(() => (reports.at(-1)?.oldestUnfinishedMs ?? 0) > firstMs, { timeoutMs });
    expect(reports.at(-1)?.deferred).toEqual({ messages: 0, oldestAgeMs: 0 });
    hangs.open();
    await until(() => reports.at(-1)?.lag === 0, { timeoutMs });
    expect(reports.at(-1)).toMatchObject({ lag: 0, oldestUnfinishedMs: 0 });
  });
}

function orderTests(create: (partitions?: number) => Promise<Stage>): void {
  it('continues past a message that keeps failing while others succeed, and keeps the order of its key', async () => {
    const stage = await create();
    const work = failingWork('a:1');
    await stage.publish('a:1', 'a:2');
    const seen = stage.consume(work.handle, quick);
    let published = await publishUntilDeferred(stage, 2);
    await stage.publish('a:3');
    await stage.untilCommitted((published += 1));
    expect(work.succeeded.filter(isOfA)).toEqual([]);
    work.mend();
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    await stage.publish('a:4');
    await stage.untilCommitted(published + 1);
    expect(work.succeeded.filter(isOfA)).toEqual(['a:1', 'a:2', 'a:3', 'a:4']);
    const waited = (id: string) => {
      const last = seen.deliveries.findLast(({ headers }) => headers['event-id'] === id);
      return last === undefined ? null : new MessageContext([last]).waitingSince();
    };
    expect(['a:1', 'a:2', 'a:4'].map((id) => waited(id) !== null)).toEqual([true, true, false]);
    expect(await stage.parked()).toEqual([]);
  });

  it('keeps the order of a deferred key when its newer messages come to the next process', async () => {
    const stage = await create();
    const work = failingWork('a:1');
    await stage.publish('a:1');
    // The first process may end while it holds a lease.
    const soon = { ...quick, leaseMs: 100 };
    const first = stage.consume(work.handle, soon);
    const published = await publishUntilDeferred(stage, 1);
    await first.strategy.abandon();
    await stage.publish('a:2', 'a:3');
    stage.consume(work.handle, soon);
    await stage.untilCommitted(published + 2);
    expect(work.succeeded.filter(isOfA)).toEqual([]);
    work.mend();
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    expect(work.succeeded.filter(isOfA)).toEqual(['a:1', 'a:2', 'a:3']);
  });

  it('keeps the order of each key while several processes share the retry table', async () => {
    const stage = await create(4);
    const keys = ['a', 'b', 'c', 'd'];
    const work = failingWork(...keys.map((key) => `${key}:1`));
    await stage.publish(...keys.flatMap((key) => [1, 2].map((n) => `${key}:${n}`)));
    const consume = () => stage.consume(work.handle, quick);
    const seen: Seen[] = [consume(), consume()];
    let published = await publishUntilDeferred(stage, 8);
    await stage.publish(...keys.map((key) => `${key}:3`));
    await stage.untilCommitted((published += 4));
    work.mend();
    await stage.publish(...keys.map((key) => `${key}:4`));
    await stage.untilCommitted(published + 4);
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    for (const key of keys) {
      // The embedded transport gives each process every message: the first success of each counts.
      const succeeded = new Set(work.succeeded.filter((value) => value.startsWith(key)));
      expect([...succeeded]).toEqual([1, 2, 3, 4].map((n) => `${key}:${n}`));
    }
    expect(seen.every(({ strategy }) => strategy.consumerStatus.connected)).toBe(true);
  });
}

function outcomeTests(create: (partitions?: number) => Promise<Stage>): void {
  it('defers nothing while everything fails, and commits all once it works again', async () => {
    const stage = await create();
    let isAway = true;
    const items = Array.from({ length: 20 }, (_, n) => `k${n}:1`);
    await stage.publish(...items);
    const seen = stage.consume(
      () => {
        if (isAway) throw away();
      },
      { ...quick, deferAfterMs: 0 },
    );
    await sees(seen, items.length * 5);
    expect(await stage.deferred()).toBe(0);
    expect(await stage.committed()).toBe(0);
    isAway = false;
    await stage.untilCommitted(items.length);
    expect(await stage.parked()).toEqual([]);
  });

  it('parks a deferred message after the last of its own failures, and continues with its key', async () => {
    const stage = await create();
    let error = away();
    await stage.publish('a:1', 'a:2');
    const succeeded: string[] = [];
    stage.consume(
      (value) => {
        if (value === 'a:1') throw error;
        succeeded.push(value);
      },
      { ...quick, attemptsMax: 3 },
    );
    await publishUntilDeferred(stage, 2);
    error = new RangeError('cannot do this one');
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    expect(await stage.parked()).toEqual([
      { value: '"a:1"', error: 'RangeError: cannot do this one' },
    ]);
    expect(succeeded.filter(isOfA)).toEqual(['a:2']);
  });

  it('parks an unreadable message although its key waits in the retry table', async () => {
    const stage = await create();
    const work = failingWork('a:1');
    await stage.publish('a:1');
    stage.consume(work.handle, quick);
    const published = await publishUntilDeferred(stage, 1);
    await stage.harness.publish([{ topic: stage.topic, key: 'a', value: '{\0', headers: {} }]);
    await stage.untilCommitted(published + 1);
    work.mend();
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    expect(await stage.parked()).toHaveLength(1);
    expect(work.succeeded.filter(isOfA)).toEqual(['a:1']);
  });

  it('keeps a deferred message whose topic it does not handle', async () => {
    const stage = await create();
    const { deferred } = stage.harness;
    const message = { topic: 'of-another-release', key: 'a', value: '1', headers: {}, offset: '1' };
    const due = { error: 'away', failures: 0, dueInMs: 0 };
    await deferred.defer(stage.group, { ...message, attempt: 1 }, due);
    const failed: string[] = [];
    stage.consume(() => undefined, {
      ...quick,
      observe: { failed: (_delivery, error) => failed.push(String(error)) },
    });
    await until(() => failed.length >= 3, { timeoutMs });
    expect(failed[0]).toContain('has no handler for of-another-release');
    expect(await stage.deferred()).toBe(1);
    expect(await stage.parked()).toEqual([]);
  });

  it('also defers a replayed dead letter, and handles it once', async () => {
    const stage = await create();
    let error: Error | null = new NonRetryable('a bug');
    let succeeded = 0;
    await stage.publish('a:1');
    stage.consume((value) => {
      if (value === 'a:1' && error !== null) throw error;
      if (value === 'a:1') succeeded += 1;
    }, quick);
    await until(async () => (await stage.parked()).length === 1, { timeoutMs });
    error = away();
    await stage.harness.replay(stage.group, stage.topic);
    await untilDeferred(stage, 1);
    error = null;
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    expect(succeeded).toBe(1);
  });
}

const away = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const isOfA = (value: string) => value.startsWith('a');

/** A handler with a dependency that is unavailable for some messages, until it is repaired. */
function failingWork(...failing: readonly string[]) {
  let isMended = false;
  const succeeded: string[] = [];
  return {
    succeeded,
    mend: () => {
      isMended = true;
    },
    handle: (value: string) => {
      if (!isMended && failing.includes(value)) throw away();
      succeeded.push(value);
    },
  };
}

/** Publishes succeeding messages until this many messages are in the retry table. @returns how many it published */
async function untilDeferred(stage: Stage, count: number): Promise<number> {
  let published = 0;
  await until(
    async () => {
      if ((await stage.deferred()) === count) return true;
      await stage.publish(`other-${(published += 1)}:1`);
      return false;
    },
    { timeoutMs, everyMs: 20 },
  );
  return published;
}

/**
 * Publishes succeeding messages until this many messages are in the retry table and everything published is
 * committed. On the embedded transport each process has every message, and
 * defers its own only while others succeed. @returns how many messages were published, those given included
 */
async function publishUntilDeferred(stage: Stage, given: number): Promise<number> {
  let published = given + (await untilDeferred(stage, given));
  let looks = 0;
  await until(
    async () => {
      if ((await stage.committed()) === published) return true;
      looks += 1;
      if (looks % looksForEachMore === 0) await stage.publish(`more-${(published += 1)}:1`);
      return false;
    },
    { timeoutMs, everyMs: 20, what: 'all messages committed' },
  );
  return published;
}

/** Enough to see a commit between two messages. */
const looksForEachMore = 25;
