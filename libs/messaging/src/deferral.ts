/**
 * The key queues' access to the retry table of their group. It costs nothing while the table is known to be
 * empty. Otherwise each message is looked up before its first attempt. Concurrent lookups go together.
 *
 * Why "known to be empty" is safe: a key enters the table through the process that holds its partition.
 * That is through this object, or before the partition came here. In the latter case `recheck` is called
 * when the partition is opened, after its position in the log was read. A process that has lost the
 * partition may still add a message late. Then the message is handled here too, or follows, which this
 * object notices.
 */
import type { DeferredMessages, FailedAttempt } from './deferred-messages.js';
import type { Delivery } from './message.js';

export class Deferral {
  #isKnownEmpty = false;
  /** Changes with every event that makes a running query of the table stale. */
  #epoch = 0;
  #batch: Batch | null = null;
  #lookedUp: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly group: string,
    private readonly table: DeferredMessages,
    /** Something was deferred or may have been: the retry worker should poll. */
    private readonly onChange: () => void,
  ) {}

  /** False: no key is in the table. */
  get mayHold(): boolean {
    return !this.#isKnownEmpty;
  }

  /** Forgets the known state of the table. */
  recheck(): void {
    this.#changed();
  }

  /** Puts a message behind the others of its key if there are any. @returns whether it is in the table now */
  async follow(delivery: Delivery): Promise<boolean> {
    if (!(await this.#holds(delivery.key))) return false;
    let isThere = true;
    try {
      isThere = await this.table.follow(this.group, delivery);
      return isThere;
    } finally {
      // Another process may have added the key after our last query. Also after a failure: the answer to a
      // commit may have been lost.
      if (isThere) this.#changed();
    }
  }

  async defer(delivery: Delivery, failed: FailedAttempt): Promise<void> {
    try {
      await this.table.defer(this.group, delivery, failed);
    } finally {
      // Also after a failure, as above.
      this.#changed();
    }
  }

  /** Checks whether the table is empty. A change during the query overrides its answer. */
  async look(): Promise<{ readonly isEmpty: boolean }> {
    const epoch = this.#epoch;
    const isEmpty = await this.table.isEmpty(this.group);
    if (epoch === this.#epoch) this.#isKnownEmpty = isEmpty;
    return { isEmpty };
  }

  #changed(): void {
    this.#epoch += 1;
    this.#isKnownEmpty = false;
    this.onChange();
  }

  /** One lookup at a time. Keys that arrive meanwhile share the next one. */
  async #holds(key: string): Promise<boolean> {
    this.#batch ??= this.#nextBatch();
    this.#batch.keys.add(key);
    return (await this.#batch.held).has(key);
  }

  #nextBatch(): Batch {
    const keys = new Set<string>();
    const held = this.#lookedUp.then(() => {
      this.#batch = null;
      return this.table.holding(this.group, [...keys]);
    });
    this.#lookedUp = held.catch(() => undefined);
    return { keys, held };
  }
}

interface Batch {
  readonly keys: Set<string>;
  readonly held: Promise<ReadonlySet<string>>;
}
