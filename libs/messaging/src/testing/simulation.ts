/**
 * Consumers of one group in a simulated world: partitions that move, processes that die, a retry table
 * whose calls fail before or after they took effect, handlers that fail or outlive their process. Every
 * order of events follows from the seed. The workload is here; what must hold is audited by the test.
 */
import { ConsumerEngine } from '../engine.js';
import type { DeferredMessages } from '../deferred-messages.js';
import { defaultRetryLimits } from '../deferred-retries.js';
import { defaultKeyQueueLimits } from '../key-queues.js';
import type { Delivery } from '../message.js';
import type { Partition } from '../partition.js';
import { memoryDeferredMessages } from './memory.js';
import type { Random } from '@pis/local-servers/testing';

export interface World {
  readonly partitions: number;
  readonly processes: number;
  /** Each with its key. The number is its position in its partition. */
  readonly messages: readonly SimulatedMessage[];
  /** Until then faults happen and sick messages fail, virtual milliseconds. */
  readonly healthyFromMs: number;
}

export interface SimulatedMessage {
  readonly partition: number;
  readonly key: string;
  readonly id: string;
  readonly isSick: boolean;
}

const group = 'simulated';

export class Simulation {
  /** The ids of messages in the order in which their handlers succeeded, by key. */
  readonly succeeded = new Map<string, string[]>();
  readonly parked: string[] = [];
  deferred = 0;
  readonly #table: DeferredMessages;
  readonly #world: World;
  readonly #random: Random;
  readonly #log: readonly (readonly SimulatedMessage[])[];
  readonly #committed: number[];
  readonly #owners: (Process | null)[];
  /** What happens next is one of these, or the next timer. */
  readonly #events: (() => void)[] = [];
  #timers: { readonly atMs: number; readonly over: () => void }[] = [];
  #processes: Process[] = [];
  #nowMs = 0;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.#log = Array.from({ length: world.partitions }, (_, n) =>
      world.messages.filter(({ partition }) => partition === n),
    );
    this.#committed = this.#log.map(() => 0);
    this.#owners = this.#log.map(() => null);
    this.#table = this.#overNetwork(memoryDeferredMessages(() => this.#nowMs));
  }

  /** Runs until everything is committed and the retry table is empty. @throws when that takes too long */
  async run(stepsMax: number): Promise<void> {
    for (let n = 0; n < this.#world.processes; n += 1) this.#startProcess();
    this.#rebalance();
    for (let steps = 0; steps < stepsMax; steps += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (await this.#isDone()) return this.#end();
      this.#step();
    }
    throw new Error('the simulated consumers never come to an end');
  }

  async #isDone(): Promise<boolean> {
    if (!this.#log.every((messages, n) => this.#committed[n] === messages.length)) return false;
    return (await this.#real.backlog(group)).messages === 0 && this.#events.length === 0;
  }

  #end(): void {
    for (const process of this.#processes) process.die();
  }

  #step(): void {
    const isHealthy = this.#nowMs >= this.#world.healthyFromMs;
    if (!isHealthy && this.#random(100) === 0) return this.#disturb();
    if (this.#random(3) === 0) this.#commit();
    const event =
      this.#events.length > 0 && this.#random(3) > 0
        ? this.#events.splice(this.#random(this.#events.length), 1)[0]
        : undefined;
    if (event !== undefined) return event();
    this.#timers.sort((a, b) => a.atMs - b.atMs);
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    timer.over();
  }

  #disturb(): void {
    const victim = this.#processes[this.#random(this.#processes.length)];
    if (this.#random(2) === 0 && victim !== undefined) {
      victim.die();
      this.#processes = this.#processes.filter((process) => process !== victim);
      this.#startProcess();
    }
    this.#rebalance();
  }

  #commit(): void {
    this.#owners.forEach((owner, partition) => {
      const position = owner?.positionOf(partition) ?? null;
      if (position !== null) this.#committed[partition] = Number(position);
    });
  }

  /** Partitions change owners. The new owner continues from the last commit. */
  #rebalance(): void {
    this.#owners.forEach((before, partition) => {
      const owner = this.#processes[this.#random(this.#processes.length)];
      if (owner === undefined || owner === before) return;
      before?.lose(partition);
      this.#owners[partition] = owner;
      const from = this.#committed[partition] ?? 0;
      owner.take(partition, (this.#log[partition] ?? []).slice(from), from);
    });
  }

  #startProcess(): void {
    const engine = new ConsumerEngine({
      group,
      deferred: this.#table,
      limits: {
        ...defaultKeyQueueLimits,
        ...{ deferAfterMs: 200, inFlightMax: 12, uncommittedMax: 30 },
        ...{ concurrencyMax: 3, backoffMaxMs: 400 },
      },
      retryLimits: { ...defaultRetryLimits, leaseMs: 2_000, retryMaxMs: 1_000, idlePollMs: 1_000 },
      progressIntervalMs: 3_600_000,
      handle: (delivery) => this.#handle(delivery),
      park: ({ value }) => Promise.resolve(void this.parked.push(value)),
      delay: (ms, signal) => this.#delay(ms, signal),
      nowMs: () => this.#nowMs,
      observe: {
        deferred: () => {
          this.deferred += 1;
        },
      },
    });
    const process = new Process(engine);
    this.#processes.push(process);
    engine.start(() => Promise.reject(new Error('not asked for')));
  }

  /** Ends at some later step, even if its process is dead by then: its effects remain. */
  #handle({ key, value }: Delivery): Promise<void> {
    const isSick = this.#world.messages.some((message) => message.id === value && message.isSick);
    return new Promise((resolve, reject) => {
      this.#events.push(() => {
        const fails = this.#nowMs < this.#world.healthyFromMs && (isSick || this.#random(5) === 0);
        if (fails) return reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
        this.succeeded.set(key, [...(this.succeeded.get(key) ?? []), value]);
        resolve();
      });
    });
  }

  #delay(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#timers.push({ atMs: this.#nowMs + ms, over: resolve });
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #real: DeferredMessages = memoryDeferredMessages();

  /** Each call arrives at some later step and is answered at another; it may fail on either way. */
  #overNetwork(table: DeferredMessages): DeferredMessages {
    this.#real = table;
    const hop = () =>
      new Promise<void>((resolve, reject) => {
        const isLost = this.#nowMs < this.#world.healthyFromMs && this.#random(12) === 0;
        this.#events.push(isLost ? () => reject(new Error('connection lost')) : resolve);
      });
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      await hop();
      const result = await work();
      await hop();
      return result;
    };
    return {
      defer: (...args) => call(() => table.defer(...args)),
      follow: (...args) => call(() => table.follow(...args)),
      holding: (...args) => call(() => table.holding(...args)),
      isEmpty: (...args) => call(() => table.isEmpty(...args)),
      claim: (...args) => call(() => table.claim(...args)),
      renew: (...args) => call(() => table.renew(...args)),
      settle: (...args) => call(() => table.settle(...args)),
      postpone: (...args) => call(() => table.postpone(...args)),
      backlog: (...args) => call(() => table.backlog(...args)),
    };
  }
}

/** One process of the group: an engine and the partitions it holds. */
class Process {
  readonly #open = new Map<number, Partition>();

  constructor(private readonly engine: ConsumerEngine) {}

  take(partition: number, messages: readonly SimulatedMessage[], from: number): void {
    const open = this.engine.open(String(partition), () => undefined);
    this.#open.set(partition, open);
    void this.#read(open, messages, from);
  }

  async #read(open: Partition, messages: readonly SimulatedMessage[], from: number): Promise<void> {
    for (const [index, { key, id }] of messages.entries()) {
      const offset = String(from + index);
      const message = { topic: 't', key, value: id, headers: {}, offset };
      open.submit(message, String(from + index + 1));
      await open.room();
      if (open.abandoned) return;
    }
  }

  positionOf(partition: number): string | null {
    return this.#open.get(partition)?.position ?? null;
  }

  lose(partition: number): void {
    this.#open.get(partition)?.abandon();
    this.#open.delete(partition);
  }

  die(): void {
    this.engine.abandon();
    for (const partition of [...this.#open.keys()]) this.lose(partition);
  }
}
