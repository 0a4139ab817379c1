/** What the tests of transports share: a harness for each, and topics with consumers that record what they receive. */
import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import type { ConsumerOptions, ConsumerStrategy } from '../consumer.server.js';
import type { DeferredMessages } from '../deferred-messages.js';
import { MessageContext } from '../message-context.js';
import type { Delivery, Message } from '../message.js';

/** The harness gives all consumers the same retry table, unless the test has one. */
export type StageOptions = Omit<ConsumerOptions, 'deferred'> &
  Partial<Pick<ConsumerOptions, 'deferred'>>;

/** A transport under test. */
export interface MessagingHarness {
  /** The retry table of all its consumers. */
  readonly deferred: DeferredMessages;
  /** A topic that nobody else uses; its dead letters too. */
  createTopic(options: { readonly partitions: number }): Promise<string>;
  publish(messages: readonly Message[]): Promise<void>;
  createConsumer(options: StageOptions): ConsumerStrategy;
  /** How many messages of the topic are committed as done. */
  committed(group: string, topic: string): Promise<number>;
  /** The oldest first. */
  parked(group: string, topic: string): Promise<readonly { value: string; error: string }[]>;
  /** Has the parked messages of the group handled again. */
  replay(group: string, topic: string): Promise<void>;
  close(): Promise<void>;
}

export const timeoutMs = 20_000;

/** What a consumer of the suite received: values in the order in which handling began. */
export interface Seen {
  readonly strategy: ConsumerStrategy;
  readonly values: string[];
  readonly deliveries: Delivery[];
}

export type Handle = (value: string, delivery: Delivery) => unknown;

/** A topic and consumers on it; everything is closed after the test. */
export class Stage {
  readonly group = `group-${randomUUID()}`;
  readonly #open: ConsumerStrategy[] = [];

  private constructor(
    readonly harness: MessagingHarness,
    readonly topic: string,
  ) {}

  static async create(harness: MessagingHarness, partitions: number): Promise<Stage> {
    return new Stage(harness, await harness.createTopic({ partitions }));
  }

  /** `key:text` items, each a message with that key whose value is the whole item. */
  publish(...items: string[]): Promise<void> {
    return this.harness.publish(
      items.map((item) => ({
        topic: this.topic,
        key: item.split(':')[0] ?? '',
        value: JSON.stringify(item),
        headers: { 'event-id': item },
      })),
    );
  }

  consume(handle: Handle, options: Partial<ConsumerOptions> = {}): Seen {
    const strategy = this.harness.createConsumer({
      group: this.group,
      backoffInitialMs: 5,
      backoffMaxMs: 20,
      commitIntervalMs: 20,
      ...options,
    });
    const seen: Seen = { strategy, values: [], deliveries: [] };
    const handler = async (value: unknown, context: unknown): Promise<void> => {
      if (typeof value !== 'string' || !(context instanceof MessageContext)) {
        throw new Error('not called as a handler is');
      }
      seen.values.push(value);
      seen.deliveries.push(context.getDelivery());
      await handle(value, context.getDelivery());
    };
    strategy.addHandler(this.topic, handler as never, true);
    strategy.listen((error) => {
      if (error !== undefined) throw error as Error;
    });
    this.#open.push(strategy);
    return seen;
  }

  committed(group: string = this.group): Promise<number> {
    return this.harness.committed(group, this.topic);
  }

  parked(group: string = this.group) {
    return this.harness.parked(group, this.topic);
  }

  /** How many messages of the group wait in the retry table. */
  async deferred(group: string = this.group): Promise<number> {
    return (await this.harness.deferred.backlog(group)).messages;
  }

  async untilCommitted(count: number, group?: string): Promise<void> {
    await until(async () => (await this.committed(group)) === count, {
      timeoutMs,
      what: `${count} messages committed`,
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((strategy) => strategy.close()));
  }
}

/** A gate that holds handlers. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
}

export const sees = (seen: Seen, count: number) =>
  until(() => seen.values.length >= count, { timeoutMs, what: `${count} messages handled` });
