/**
 * The access of the key queues to the retry table of their group. As long as the table is known to be empty it costs
 * nothing; otherwise each message is looked up before its first attempt, those of one moment together.
 *
 * Why "known to be empty" is safe: a key enters the table through the process that holds its partition,
 * that is through this object, or before the partition came here. For the latter `recheck` is called
 * when a partition is opened, after its place in the log was read. A process that has lost the partition may
 * still put a message there, late. Then the message is handled here, too, or follows, which is noticed.
 */
import type { DeferredMessages, FailedAttempt } from './deferred-messages.js';
import type { Delivery } from './message.js';

export class Deferral {
  #isKnownEmpty = false;
  /** Changes with every event that makes a running look at the table worthless. */
  #epoch = 0;
  #batch: Batch | null = null;
  #lookedUp: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly group: string,
    private readonly table: DeferredMessages,
    /** Something was deferred or may have been: whoever works the table off should look. */
    private readonly onChange: () => void,
  ) {}

  /** False: no key is in the table. */
  get mayHold(): boolean {
    return !this.#isKnownEmpty;
  }

  /** Forgets what is known of the table. */
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
      // Another process put the key there, perhaps after our last look. Also after a failure: the answer
      // may have been lost behind the commit.
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

  /** Looks whether the table is empty. What changed meanwhile counts more than the answer. */
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

  /** One look-up at a time: keys that come meanwhile share the next one. */
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
