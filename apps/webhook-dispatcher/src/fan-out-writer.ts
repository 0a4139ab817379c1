/** Stores events with their deliveries, many in one statement, and returns which deliveries are leased to us. */
import { GroupCommit, isDataError } from '@pis/postgres';
import type { DeliveryTable, FanOut } from '@pis/webhook-deliveries';

export interface FanOutWriterDeps {
  readonly table: Pick<DeliveryTable, 'insert' | 'retake'>;
  readonly now: () => Date;
  readonly limits: { readonly batchMax: number; readonly leaseMs: number };
}

interface Item {
  readonly fanOut: FanOut;
  /** For each receiver, whether this process begins the first attempt. */
  readonly leases: readonly boolean[];
  readonly leasedUntil: Date;
}

const noneOfOurs: ReadonlySet<string> = new Set();

export class FanOutWriter {
  private readonly inserts: GroupCommit<Item, ReadonlySet<string>>;

  constructor(private readonly deps: FanOutWriterDeps) {
    this.inserts = new GroupCommit({
      write: (items) => this.write(items),
      batchMax: deps.limits.batchMax,
      isItemsFault: isDataError,
    });
  }

  /**
   * Resolves once the event is stored, by this call or before.
   * @returns the ids of the deliveries that are leased to us
   */
  async add(fanOut: FanOut, leases: readonly boolean[]): Promise<ReadonlySet<string>> {
    const leasedUntil = new Date(this.deps.now().getTime() + this.deps.limits.leaseMs);
    const stored = await this.inserts.add({ fanOut, leases, leasedUntil });
    const wanted = fanOut.receivers
      .filter((_, index) => leases[index])
      .map(({ deliveryId }) => deliveryId);
    if (wanted.every((id) => stored.has(id))) return stored;
    // The message was handled before. If the answer to that insert was lost, the leases are still ours.
    return this.deps.table.retake(wanted, leasedUntil);
  }

  private async write(items: readonly Item[]): Promise<readonly ReadonlySet<string>[]> {
    // Of duplicates only the first is stored.
    const firsts = new Map<string, Item>();
    for (const item of items)
      if (!firsts.has(item.fanOut.eventId)) firsts.set(item.fanOut.eventId, item);
    const stored = await this.deps.table.insert(
      [...firsts.values()].map(({ fanOut, leases, leasedUntil }) => ({
        fanOut,
        leasedUntil: leases.map((isLeased) => (isLeased ? leasedUntil : null)),
      })),
    );
    return items.map((item) => (firsts.get(item.fanOut.eventId) === item ? stored : noneOfOurs));
  }
}
