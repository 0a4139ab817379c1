/** Lanes on the stage: the tests of lanes play with them. */
import { defaultLaneLimits, Lanes, type LaneLimits, type LanesOptions } from '../lanes.js';
import type { Delivery } from '../message.js';
import type { Run } from '../run.js';

/** Lets everything that is ready happen; nothing in the lanes waits for time but the injected delay. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

export interface Waiting {
  readonly ms: number;
  readonly over: () => void;
}

/** Lanes whose handlers and delays end when the test says so. */
export function scene(limits: Partial<LaneLimits> = {}, options: Partial<LanesOptions> = {}) {
  const started: string[] = [];
  const running = new Map<string, { succeed: () => void; fail: (error: unknown) => void }>();
  const parked: string[] = [];
  const waiting: Waiting[] = [];
  const deferred: string[] = [];
  const clock = { nowMs: 0 };
  const lanes = new Lanes({
    limits: { ...defaultLaneLimits, ...limits },
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
  return { lanes, started, parked, waiting, deferred, clock, end, passTime };
}

export function submit(run: Run, key: string, value: string, position: string = value) {
  const delivery: Omit<Delivery, 'attempt'> = {
    topic: 't',
    key,
    value,
    headers: {},
    offset: value,
  };
  run.submit(delivery, position);
}

export const unused = () => undefined;
export const away = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
