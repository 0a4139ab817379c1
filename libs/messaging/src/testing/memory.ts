import type { ConsumerState, Delivery, Message, MessagePage, MessageSource } from '../message.js';

/** Checkpoints and dead letters in memory. Passed the same suite as the one on PostgreSQL. */
export function memoryConsumerState(): ConsumerState {
  const checkpoints = new Map<string, string>();
  const letters = new Map<
    string,
    { id: string; group: string; delivery: Delivery; error: string }
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
      letters.set(name, { id, group, delivery, error });
      return Promise.resolve();
    },
    parked(group, max) {
      const mine = [...letters.values()].filter((letter) => letter.group === group).slice(0, max);
      return Promise.resolve(mine.map(({ id, delivery, error }) => ({ id, delivery, error })));
    },
    unpark(group, id) {
      for (const [name, letter] of letters) {
        if (letter.group === group && letter.id === id) letters.delete(name);
      }
      return Promise.resolve();
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

  async *subscribe({
    after,
    topics,
    signal,
  }: Parameters<MessageSource['subscribe']>[0]): AsyncGenerator<MessagePage> {
    const ended = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => ended.resolve(), { once: true });
    let position = after;
    while (!signal.aborted) {
      if (this.#broken !== null) throw this.#broken;
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
