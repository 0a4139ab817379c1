import type { Delivery } from '@pis/messaging';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { consumerObservers } from './consumer-observer.js';

const delivery = (attempt: number): Delivery => ({
  topic: 't',
  key: 'payment-1',
  value: '{"secret":true}',
  headers: {},
  offset: '0/7',
  attempt,
});

function scene() {
  const registry = new Registry();
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line) as never) });
  const clock = { nowMs: 0 };
  const observe = consumerObservers(registry, logger, () => clock.nowMs)('executor');
  const value = async (name: string) => {
    const metric = await registry.getSingleMetric(name)?.get();
    return metric?.values.map((sample) => sample.value);
  };
  return { observe, lines, clock, value };
}

describe('the log of a consumer', () => {
  it('has each failed attempt with key, attempt and cause, and without the value', () => {
    const { observe, lines } = scene();
    observe.failed(delivery(3), new Error('no route to the bank'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      group: 'executor',
      key: 'payment-1',
      attempt: 3,
      offset: '0/7',
      err: { message: 'no route to the bank' },
      msg: 'attempt at a message failed',
    });
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('is limited during many failures, and has the number of withheld lines', () => {
    const { observe, lines, clock } = scene();
    for (let n = 1; n <= 100_000; n += 1) observe.failed(delivery(n), new Error('away'));
    expect(lines).toHaveLength(20);
    clock.nowMs = 1_000;
    observe.failed(delivery(1), new Error('away'));
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toMatchObject({ withheld: 99_980 });
  });

  it('has every dead letter, also during many failures', () => {
    const { observe, lines } = scene();
    for (let n = 1; n <= 100; n += 1) observe.failed(delivery(n), new Error('away'));
    observe.parked(delivery(8), new Error('broken'));
    expect(lines.at(-1)).toMatchObject({ msg: 'message parked as a dead letter', attempt: 8 });
  });
});

describe('the metrics of a consumer', () => {
  it('exist from the start, and show the last report', async () => {
    const { observe, value } = scene();
    const names = [
      'pis_consumer_connected',
      'pis_consumer_lag_messages',
      'pis_consumer_oldest_message_seconds',
      'pis_consumer_deferred_messages',
      'pis_consumer_deferred_oldest_seconds',
    ];
    for (const name of names) expect(await value(name)).toEqual([0]);
    const deferred = { messages: 3, oldestAgeMs: 90_000 };
    const progress = { connected: true, lag: 7, oldestUnfinishedMs: 2_500, deferred };
    observe.progress(progress);
    expect(await Promise.all(names.map(value))).toEqual([[1], [7], [2.5], [3], [90]]);
    observe.progress({ ...progress, connected: false, deferred: null });
    expect(await value('pis_consumer_connected')).toEqual([0]);
    expect(await value('pis_consumer_deferred_messages')).toEqual([NaN]);
  });
});
