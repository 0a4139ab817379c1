/** Key queues for tests. */
import {
  defaultKeyQueueLimits,
  KeyQueues,
  type KeyQueueLimits,
  type KeyQueuesOptions,
} from '../key-queues.js';
import type { Delivery } from '../message.js';
import type { Partition } from '../partition.js';

/** Runs everything that is ready. The key queues wait for time only through the injected delay. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

export interface Waiting {
  readonly ms: number;
  readonly over: () => void;
}

/** Key queues whose handlers and delays end when the test says so. */
export function scene(
  limits: Partial<KeyQueueLimits> = {},
  options: Partial<KeyQueuesOptions> = {},
) {
  const started: string[] = [];
  const running = new Map<string, { succeed: () => void; fail: (error: unknown) => void }>();
  const parked: string[] = [];
  const waiting: Waiting[] = [];
  const deferred: string[] = [];
  const clock = { nowMs: 0 };
  const queues = new KeyQueues({
    limits: { ...defaultKeyQueueLimits, ...limits },
    handle: ({ value, attempt }) => {
      started.push(attempt === 1 ? value : `${value}#${attempt}`);
      return new Promise((resolve, reject) => {
        running.set(value, { succeed: resolve, fail: reject });
      });
    },
    park: ({ value }) => {
      parked.push(value);
      return Promise.resolve();
    },
    deferral: {
      get mayHold() {
        return deferred.length > 0;
      },
      follow: ({ key, value }) => {
        const isHeld = deferred.some((other) => other.startsWith(`${key} `));
        if (isHeld) deferred.push(`${key} ${value}`);
        return Promise.resolve(isHeld);
      },
      defer: ({ key, value }) => Promise.resolve(void deferred.push(`${key} ${value}`)),
      recheck: () => undefined,
    },
    delay: (ms, signal) =>
      new Promise((resolve) => {
        waiting.push({ ms, over: resolve });
        signal.addEventListener('abort', () => resolve());
      }),
    nowMs: () => clock.nowMs,
    random: () => 0.5,
    ...options,
  });
  const end = async (value: string, error?: unknown) => {
    const handler = running.get(value);
    if (handler === undefined) throw new Error(`${value} is not being handled`);
    running.delete(value);
    if (error === undefined) handler.succeed();
    else handler.fail(error);
    await settled();
  };
  const passTime = async () => {
    for (const { over } of waiting.splice(0)) over();
    await settled();
  };
  return { queues, started, parked, waiting, deferred, clock, end, passTime };
}

export function submit(partition: Partition, key: string, value: string, position: string = value) {
  const delivery: Omit<Delivery, 'attempt'> = {
    topic: 't',
    key,
    value,
    headers: {},
    offset: value,
  };
  partition.submit(delivery, position);
}

export const unused = () => undefined;
export const away = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
