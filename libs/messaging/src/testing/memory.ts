import {
  deferredCountMax,
  type DeferredMessage,
  type DeferredMessages,
} from '../deferred-messages.js';
import { NonRetryable } from '../errors.js';
import type { ConsumerState, Delivery, Message, MessagePage, MessageSource } from '../message.js';
import { waitingSince } from '../message-headers.js';

/** Checkpoints and dead letters in memory. It passes the same suite as the PostgreSQL one. */
export function memoryConsumerState(): ConsumerState {
  const checkpoints = new Map<string, string>();
  const letters = new Map<
    string,
    { id: string; group: string; delivery: Delivery; error: string; parkedAt: Date }
  >();
  let lastId = 0;
  return {
    loadCheckpoint: (group) => Promise.resolve(checkpoints.get(group) ?? ''),
    saveCheckpoint(group, position) {
      if (position > (checkpoints.get(group) ?? '')) checkpoints.set(group, position);
      return Promise.resolve();
    },
    park(group, delivery, error) {
      const { topic, offset, key } = delivery;
      const name = [group, topic, offset, key].join('\0');
      const id = letters.get(name)?.id ?? String((lastId += 1));
      letters.set(name, { id, group, delivery, error, parkedAt: new Date() });
      return Promise.resolve();
    },
    parked(group, max) {
      const mine = [...letters.values()].filter((letter) => letter.group === group).slice(0, max);
      return Promise.resolve(
        mine.map(({ id, delivery, error, parkedAt }) => {
          const headers = waitingSince(parkedAt, delivery.headers);
          return { id, delivery: { ...delivery, headers }, error };
        }),
      );
    },
    unpark(group, id) {
      for (const [name, letter] of letters) {
        if (letter.group === group && letter.id === id) letters.delete(name);
      }
      return Promise.resolve();
    },
  };
}

/** The retry table in memory, with the test's clock. It passes the same suite as the PostgreSQL one. */
export function memoryDeferredMessages(nowMs: () => number = Date.now): DeferredMessages {
  const keys = new Map<string, { key: string; group: string; dueMs: number; lease: number }>();
  let messages: (Omit<DeferredMessage, 'lease'> & { group: string })[] = [];
  let lastId = 0;
  let lastLease = 0;
  const nameOf = (group: string, key: string) => `${group}\0${key}`;
  const ofKey = (group: string, key: string) =>
    messages.filter((message) => message.group === group && message.delivery.key === key);
  const leased = (group: string, { delivery, lease }: DeferredMessage) => {
    const found = keys.get(nameOf(group, delivery.key));
    return found !== undefined && String(found.lease) === lease ? found : null;
  };
  const append = (group: string, delivery: Delivery, failures: number) => {
    const { topic, offset, key } = delivery;
    const isThere = ofKey(group, key).some(
      (other) => other.delivery.topic === topic && other.delivery.offset === offset,
    );
    if (isThere) return;
    const deferredAt = new Date(nowMs());
    messages.push({ id: String((lastId += 1)), group, delivery, failures, deferredAt });
  };
  return {
    defer(group, delivery, { failures, dueInMs }) {
      const { key } = delivery;
      const name = nameOf(group, key);
      if (!keys.has(name)) keys.set(name, { key, group, dueMs: nowMs() + dueInMs, lease: 0 });
      append(group, delivery, failures);
      return Promise.resolve();
    },
    follow(group, delivery) {
      if (delivery.value.includes('\0')) return Promise.reject(new NonRetryable('not JSON'));
      const isHeld = keys.has(nameOf(group, delivery.key));
      if (isHeld) append(group, delivery, 0);
      return Promise.resolve(isHeld);
    },
    holding: (group, asked) =>
      Promise.resolve(new Set(asked.filter((key) => keys.has(nameOf(group, key))))),
    isEmpty: (group) => Promise.resolve(![...keys.values()].some((key) => key.group === group)),
    claim(group, max, leaseMs) {
      const due = [...keys.values()]
        .filter((key) => key.group === group && key.dueMs <= nowMs())
        .sort((a, b) => a.dueMs - b.dueMs)
        .slice(0, max);
      for (const key of due)
        Object.assign(key, { dueMs: nowMs() + leaseMs, lease: (lastLease += 1) });
      return Promise.resolve(
        due.flatMap(({ key, lease }) =>
          ofKey(group, key)
            .slice(0, 1)
            .map(({ group: _group, ...message }) => ({ ...message, lease: `${lease}` })),
        ),
      );
    },
    renew(group, claimed, leaseMs) {
      for (const message of claimed) {
        const key = leased(group, message);
        if (key !== null) key.dueMs = nowMs() + leaseMs;
      }
      return Promise.resolve();
    },
    settle(group, message) {
      const { key } = message.delivery;
      if (leased(group, message) === null) return Promise.resolve(null);
      messages = messages.filter(({ id }) => id !== message.id);
      const [next] = ofKey(group, key);
      if (next === undefined) keys.delete(nameOf(group, key));
      if (next === undefined) return Promise.resolve(null);
      const { group: _group, ...rest } = next;
      return Promise.resolve({ ...rest, lease: message.lease });
    },
    postpone(group, message, { failures, dueInMs }) {
      const key = leased(group, message);
      if (key === null) return Promise.resolve();
      key.dueMs = nowMs() + dueInMs;
      messages = messages.map((other) =>
        other.id === message.id ? { ...other, delivery: message.delivery, failures } : other,
      );
      return Promise.resolve();
    },
    backlog(group) {
      const mine = messages.filter((message) => message.group === group);
      return Promise.resolve({
        messages: Math.min(mine.length, deferredCountMax),
        oldestAgeMs: mine[0] === undefined ? 0 : nowMs() - mine[0].deferredAt.getTime(),
      });
    },
  };
}

/** A log in memory: the MessageSource of tests. Messages of one publish() make one page. */
export class MemoryLog implements MessageSource {
  readonly #entries: (Message & { readonly offset: string })[] = [];
  #grown = Promise.withResolvers<void>();
  #broken: Error | null = null;

  publish(messages: readonly Message[]): Promise<void> {
    for (const message of messages) {
      const offset = String(this.#entries.length + 1).padStart(12, '0');
      this.#entries.push({ ...message, offset });
    }
    this.#wake();
    return Promise.resolve();
  }

  /** Makes every subscription fail, and new ones too, until mend(). */
  break(error: Error): void {
    this.#broken = error;
    this.#wake();
  }

  mend(): void {
    this.#broken = null;
  }

  /** The offsets of a topic's messages, in order. */
  offsetsOf(topic: string): string[] {
    return this.#entries.filter((entry) => entry.topic === topic).map(({ offset }) => offset);
  }

  countAfter({ after, topics, max }: Parameters<MessageSource['countAfter']>[0]): Promise<number> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    const later = this.#entries.filter(
      ({ offset, topic }) => offset > after && topics.includes(topic),
    );
    return Promise.resolve(Math.min(later.length, max));
  }

  async *subscribe({
    after,
    topics,
    signal,
    onConnection,
  }: Parameters<MessageSource['subscribe']>[0]): AsyncGenerator<MessagePage> {
    const ended = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    let position = after;
    while (!signal.aborted) {
      if (this.#broken !== null) throw this.#broken;
      onConnection?.(null);
      const grown = this.#grown.promise;
      const page = this.#entries.filter(({ offset }) => offset > position);
      const last = page.at(-1);
      if (last === undefined) {
        await Promise.race([grown, ended.promise]);
        continue;
      }
      position = last.offset;
      yield { messages: page.filter(({ topic }) => topics.includes(topic)), position };
    }
  }

  #wake(): void {
    this.#grown.resolve();
    this.#grown = Promise.withResolvers<void>();
  }
}
