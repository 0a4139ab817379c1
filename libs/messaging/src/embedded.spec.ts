import { closeAfterEach, until } from '@pis/local-servers/testing';
import type { ConsumerProgress } from './attempts.js';
import { EmbeddedConsumerStrategy } from './embedded.server.js';
import { NonRetryable } from './errors.js';
import type { ConsumerState, MessagePage, MessageSource } from './message.js';
import { messagingConformance } from './testing/conformance.js';
import { CheckpointMoved } from './pg-consumer-state.js';
import { gate, sees, Stage, timeoutMs } from './testing/stage.js';
import { embeddedHarness } from './testing/embedded-harness.js';
import { memoryConsumerState, memoryDeferredMessages } from './testing/memory.js';

const atEnd = closeAfterEach();

messagingConformance('the embedded transport in memory', () =>
  Promise.resolve(embeddedHarness(memoryConsumerState())),
);

describe('the embedded transport', () => {
  it('continues where it was when the log could not be read for a while', async () => {
    const harness = embeddedHarness(memoryConsumerState());
    const stage = await Stage.create(harness, 1);
    atEnd(() => stage.close());
    const problems: string[] = [];
    const seen = stage.consume(() => undefined, {
      observe: { problem: (doing) => problems.push(doing) },
    });
    await stage.publish('a:1');
    await sees(seen, 1);
    harness.log.break(new Error('read failed'));
    await until(() => !seen.strategy.consumerStatus.connected, { timeoutMs });
    expect(seen.strategy.consumerStatus.error).toBe('Error: read failed');
    await stage.publish('a:2');
    harness.log.mend();
    await sees(seen, 2);
    expect(seen.values).toEqual(['a:1', 'a:2']);
    expect(seen.strategy.consumerStatus).toMatchObject({ connected: true, error: null });
    expect(problems).toContain('reading the log');
  });

  it('starts once its checkpoint can be loaded, and saves it once it can be saved', async () => {
    const memory = memoryConsumerState();
    let away = true;
    const whenBack = <T>(work: () => Promise<T>) =>
      away ? Promise.reject(new Error('Connection terminated unexpectedly')) : work();
    const state: ConsumerState = {
      ...memory,
      loadCheckpoint: (group) => whenBack(() => memory.loadCheckpoint(group)),
      saveCheckpoint: (group, position) => whenBack(() => memory.saveCheckpoint(group, position)),
    };
    const stage = await Stage.create(embeddedHarness(state), 1);
    atEnd(() => stage.close());
    await stage.publish('a:1');
    const seen = stage.consume(() => undefined);
    await until(() => seen.strategy.consumerStatus.error !== null, { timeoutMs });
    expect(seen.values).toEqual([]);
    away = false;
    await sees(seen, 1);
    away = true;
    await stage.publish('a:2');
    await sees(seen, 2);
    away = false;
    await stage.untilCommitted(2);
  });

  it('pauses and says why while its checkpoint stands on an event that the log has lost', async () => {
    const harness = embeddedHarness(memoryConsumerState());
    const stage = await Stage.create(harness, 1);
    atEnd(() => stage.close());
    const problems: unknown[] = [];
    await stage.publish('a:1');
    harness.log.break(new CheckpointMoved('g', 'the log has lost the event at 7'));
    const seen = stage.consume(() => undefined, {
      observe: { problem: (_doing, error) => problems.push(error) },
    });
    await until(() => seen.strategy.consumerStatus.error !== null, { timeoutMs });
    expect(seen.strategy.consumerStatus.error).toContain('the log has lost the event at 7');
    expect(problems).toContainEqual(new Error('the log has lost the event at 7'));
    harness.log.mend();
    await sees(seen, 1);
    expect(seen.strategy.consumerStatus).toMatchObject({ connected: true, error: null });
  });

  it('begins at its checkpoint again if that turns out to be moved while the log cannot be read', async () => {
    const memory = memoryConsumerState();
    let isMoved = false;
    const state: ConsumerState = {
      ...memory,
      saveCheckpoint: async (group, position) => {
        if (!isMoved) return memory.saveCheckpoint(group, position);
        isMoved = false;
        throw new CheckpointMoved(group);
      },
    };
    const harness = embeddedHarness(state);
    const stage = await Stage.create(harness, 1);
    atEnd(() => stage.close());
    const handled = gate();
    const seen = stage.consume((value) => (value === 'a:2' ? handled.opened : undefined));
    await stage.publish('a:1');
    await stage.untilCommitted(1);
    await stage.publish('a:2');
    await sees(seen, 2);
    harness.log.break(new Error('read failed'));
    await until(() => !seen.strategy.consumerStatus.connected, { timeoutMs });
    isMoved = true;
    handled.open();
    await until(() => !isMoved, { timeoutMs });
    harness.log.mend();
    await sees(seen, 3);
    expect(seen.values).toEqual(['a:1', 'a:2', 'a:2']);
    await stage.untilCommitted(2);
  });

  it('saves how far it has handled what is before its checkpoint', async () => {
    const position = '5';
    const pageOf = (offset: string, value: string): MessagePage => ({
      messages: [{ topic: 't', key: value, value, headers: {}, offset }],
      position,
      kindsRead: { a: offset },
    });
    const source: MessageSource = {
      countAfter: () => Promise.resolve(0),
      async *subscribe({ signal }) {
        yield pageOf('1', '1');
        yield pageOf('2', '2');
        yield { messages: [], position, kindsRead: { a: '3' } };
        yield { messages: [], position, kindsRead: { b: '3' } };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    };
    const saved: MessagePage['kindsRead'][] = [];
    const state: ConsumerState = {
      ...memoryConsumerState(),
      saveCheckpoint: (_group, _position, _eventId, kindsRead) =>
        Promise.resolve(void saved.push(kindsRead)),
    };
    const second = gate();
    const deferred = memoryDeferredMessages();
    const limits = { commitIntervalMs: 1 };
    const strategy = new EmbeddedConsumerStrategy({
      ...{ group: 'g', source, state, deferred, ...limits },
    });
    atEnd(() => strategy.close());
    strategy.addHandler(
      't',
      ((value: number) => (value === 2 ? second.opened : null)) as never,
      true,
    );
    strategy.listen(() => undefined);
    await until(() => saved.length > 0, { timeoutMs });
    second.open();
    await until(() => saved.at(-1)?.b === '3', { timeoutMs });
    expect(saved).toEqual([{ a: '1' }, { a: '3', b: '3' }]);
  });

  it('does not read further while its window is full', async () => {
    const full = gate();
    let pages = 0;
    const source: MessageSource = {
      countAfter: () => Promise.resolve(0),
      async *subscribe({ signal }): AsyncGenerator<MessagePage> {
        while (!signal.aborted) {
          pages += 1;
          const offset = String(pages).padStart(6, '0');
          const message = { topic: 't', key: `k${pages}`, value: '1', headers: {}, offset };
          yield { messages: [message], position: offset };
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    };
    let handled = 0;
    const strategy = new EmbeddedConsumerStrategy({
      group: 'g',
      source,
      state: memoryConsumerState(),
      deferred: memoryDeferredMessages(),
      inFlightMax: 5,
    });
    atEnd(() => strategy.close());
    const handle = async () => {
      handled += 1;
      await full.opened;
    };
    strategy.addHandler('t', handle as never, true);
    strategy.listen(() => undefined);
    await until(() => handled === 5, { timeoutMs });
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(pages).toBe(5);
    full.open();
    await until(() => pages > 50, { timeoutMs });
  });

  it('also counts unread messages, and keeps reporting when it cannot', async () => {
    const harness = embeddedHarness(memoryConsumerState());
    const stage = await Stage.create(harness, 1);
    atEnd(() => stage.close());
    const hangs = gate();
    const reports: ConsumerProgress[] = [];
    const problems: string[] = [];
    for (let n = 1; n <= 10; n += 1) await stage.publish(`a:${n}`);
    const seen = stage.consume(() => hangs.opened, {
      inFlightMax: 10,
      progressIntervalMs: 10,
      observe: {
        progress: (progress) => reports.push(progress),
        problem: (doing) => problems.push(doing),
      },
    });
    await sees(seen, 1);
    for (let n = 11; n <= 17; n += 1) await stage.publish(`a:${n}`);
    await until(() => reports.at(-1)?.lag === 17, { timeoutMs });
    harness.log.break(new Error('read failed'));
    await until(() => problems.includes('counting what is not read yet'), { timeoutMs });
    const { length } = reports;
    const { oldestUnfinishedMs = 0 } = reports.at(-1) ?? {};
    await until(() => reports.length > length, { timeoutMs });
    await until(() => (reports.at(-1)?.oldestUnfinishedMs ?? 0) > oldestUnfinishedMs, {
      timeoutMs,
    });
    expect(reports.at(-1)?.lag).toBe(17);
    harness.log.mend();
    hangs.open();
    await until(() => reports.at(-1)?.lag === 0, { timeoutMs });
  });

  it('takes a dead letter off its list once its replay succeeds from the retry table', async () => {
    const stage = await Stage.create(embeddedHarness(memoryConsumerState()), 1);
    atEnd(() => stage.close());
    let error: Error | null = new NonRetryable('a bug');
    await stage.publish('a:1', 'b:1');
    const quick = { deferAfterMs: 0, retryPollMs: 10, idlePollMs: 10 };
    stage.consume((value) => {
      if (value === 'a:1' && error !== null) throw error;
    }, quick);
    await until(async () => (await stage.parked()).length === 1, { timeoutMs });
    error = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    await stage.harness.replay(stage.group, stage.topic);
    await until(
      async () => {
        await stage.publish('other:1');
        return (await stage.deferred()) === 1;
      },
      { timeoutMs },
    );
    expect(await stage.parked()).toHaveLength(1);
    error = null;
    await until(async () => (await stage.deferred()) === 0, { timeoutMs });
    expect(await stage.parked()).toEqual([]);
  });

  it('stops although a handler never ends', async () => {
    const stage = await Stage.create(embeddedHarness(memoryConsumerState()), 1);
    await stage.publish('a:1');
    const seen = stage.consume(() => new Promise(() => undefined), { drainMs: 20 });
    await sees(seen, 1);
    await seen.strategy.close();
    expect(await stage.committed()).toBe(0);
  });

  it('refuses to listen without a handler, and to answer requests', () => {
    const deferred = memoryDeferredMessages();
    const options = { group: 'g', source: embeddedHarness(memoryConsumerState()).log };
    const strategy = new EmbeddedConsumerStrategy({
      ...options,
      state: memoryConsumerState(),
      deferred,
    });
    let refusal: unknown;
    strategy.listen((error) => {
      refusal = error;
    });
    expect(String(refusal)).toContain('consumer group g has no handler');
    expect(() => strategy.addHandler('t', (() => undefined) as never, false)).toThrow(
      'EventPattern',
    );
  });
});
