/**
 * Properties of the key queues under random histories: any order of completions, failures and pauses. Each
 * history follows from its seed, so that a failing one can be run again alone.
 */
import { generator, type Random } from '@pis/local-servers/testing';
import { defaultKeyQueueLimits, KeyQueues, type KeyQueueLimits } from './key-queues.js';

const histories = 300;

describe('for every order of completions', () => {
  it('a partition is drained in order per key, and its reader never sleeps while there is room', async () => {
    for (let seed = 1; seed <= histories; seed += 1) await play(seed);
  });
});

/** Reads a log of random pages into queues of random limits, and ends handlers in a random order. */
async function play(seed: number): Promise<void> {
  const random = generator(seed);
  const limits = randomLimits(random);
  const total = random(120);
  const keys = 1 + random(20);
  const stubborn = new Set(Array.from({ length: random(4) }, () => String(random(total))));
  const history = new History(limits, random, stubborn);
  const reading = history.read(total, keys);
  for (await settled(); !history.isOver(); await settled()) {
    history.check(seed);
    history.step();
  }
  await reading;
  history.checkEnd(seed, total);
}

interface Running {
  readonly value: string;
  end(fails: boolean): void;
}

class History {
  readonly #queues: KeyQueues;
  readonly #partition;
  readonly #running: Running[] = [];
  readonly #delays: (() => void)[] = [];
  readonly #handled = new Map<string, number[]>();
  #read = false;
  #waits = false;

  constructor(
    private readonly limits: KeyQueueLimits,
    private readonly random: Random,
    /** Messages whose handlers end only when nothing else can happen. */
    private readonly stubborn: ReadonlySet<string>,
  ) {
    this.#queues = new KeyQueues({
      limits,
      handle: ({ key, value }) =>
        new Promise((resolve, reject) => {
          const end = (fails: boolean) => {
            if (fails) return reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
            this.#handled.set(key, [...(this.#handled.get(key) ?? []), Number(value)]);
            resolve();
          };
          this.#running.push({ value, end });
        }),
      park: () => Promise.reject(new Error('nothing is to be parked')),
      deferral: {
        mayHold: false,
        follow: () => Promise.resolve(false),
        defer: () => Promise.reject(new Error('nothing is to be deferred')),
        recheck: () => undefined,
      },
      nowMs: () => 0,
      delay: (_ms, _signal) => new Promise((resolve) => void this.#delays.push(resolve)),
    });
    this.#partition = this.#queues.open('r', () => undefined);
  }

  async read(total: number, keys: number): Promise<void> {
    for (let next = 0; next < total; ) {
      const end = Math.min(total, next + 1 + this.random(15));
      for (; next < end; next += 1) {
        const position = this.random(5) === 0 ? null : at(next);
        const key = `k${this.random(keys)}`;
        this.#partition.submit(
          { topic: 't', key, value: String(next), headers: {}, offset: at(next) },
          position,
        );
      }
      this.#partition.mark(at(end - 1));
      this.#waits = true;
      await this.#partition.room();
      this.#waits = false;
    }
    this.#read = true;
  }

  isOver(): boolean {
    return this.#read && this.#partition.unfinished === 0;
  }

  /** One thing happens: a delay is over, or a handler ends. */
  step(): void {
    const ordinary = this.#running.filter(({ value }) => !this.stubborn.has(value));
    if (this.#delays.length > 0 && (ordinary.length === 0 || this.random(2) === 0)) {
      this.#take(this.#delays, this.random(this.#delays.length))?.();
      return;
    }
    const pool = ordinary.length > 0 ? ordinary : this.#running;
    const running = pool[this.random(pool.length)];
    if (running === undefined)
      throw new Error('nothing can happen any more: the partition never drains');
    this.#take(this.#running, this.#running.indexOf(running));
    running.end(this.random(4) === 0);
  }

  check(seed: number): void {
    const { unfinished, full } = this.#partition;
    const mayWait = full || unfinished > this.limits.inFlightMax / 2;
    if (this.#waits && !mayWait)
      throw new Error(`seed ${seed}: the reader sleeps although there is room`);
    if (this.#running.length > this.limits.concurrencyMax)
      throw new Error(`seed ${seed}: ${this.#running.length} handlers at once`);
  }

  checkEnd(seed: number, total: number): void {
    for (const [key, values] of this.#handled)
      expect({ seed, key, values }).toEqual({
        seed,
        key,
        values: values.toSorted((a, b) => a - b),
      });
    const handled = [...this.#handled.values()].flat().toSorted((a, b) => a - b);
    expect({ seed, handled }).toEqual({
      seed,
      handled: Array.from({ length: total }, (_, n) => n),
    });
    const position = total === 0 ? null : at(total - 1);
    expect({ seed, position: this.#partition.position }).toEqual({ seed, position });
  }

  #take<T>(from: T[], index: number): T | undefined {
    return from.splice(index, 1)[0];
  }
}

function randomLimits(random: Random): KeyQueueLimits {
  const inFlightMax = 1 + random(30);
  return {
    ...defaultKeyQueueLimits,
    concurrencyMax: 1 + random(8),
    inFlightMax,
    uncommittedMax: inFlightMax + random(40),
  };
}

const at = (offset: number) => String(offset).padStart(6, '0');
const settled = () => new Promise((resolve) => setImmediate(resolve));
