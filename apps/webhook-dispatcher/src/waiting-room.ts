/**
 * Leased deliveries that wait for a slot, in a short queue per endpoint. They need not be read from the
 * table when a slot is free. Bounded per endpoint and in all.
 */
export interface WaitingRoomLimits {
  readonly waitingMax: number;
  readonly waitingPerEndpointMax: number;
}

export class WaitingRoom<Item> {
  private readonly queues = new Map<string, Item[]>();
  /** Places reserved for deliveries that are still being stored. */
  private readonly reserved = new Map<string, number>();
  private takenInAll = 0;

  constructor(private readonly limits: WaitingRoomLimits) {}

  /** Free places. */
  get free(): number {
    return Math.max(0, this.limits.waitingMax - this.takenInAll);
  }

  /** Free places of the endpoint. 0 while its queue is more than half full, so that refills are large. */
  refill(endpointId: string): number {
    const { waitingMax, waitingPerEndpointMax } = this.limits;
    const taken = this.takenOf(endpointId);
    if (taken > waitingPerEndpointMax / 2) return 0;
    return Math.max(0, Math.min(waitingPerEndpointMax - taken, waitingMax - this.takenInAll));
  }

  tryReserve(endpointId: string): boolean {
    const { waitingMax, waitingPerEndpointMax } = this.limits;
    if (this.takenInAll >= waitingMax || this.takenOf(endpointId) >= waitingPerEndpointMax)
      return false;
    this.reserved.set(endpointId, (this.reserved.get(endpointId) ?? 0) + 1);
    this.takenInAll += 1;
    return true;
  }

  giveUp(endpointId: string): void {
    const left = (this.reserved.get(endpointId) ?? 0) - 1;
    if (left > 0) this.reserved.set(endpointId, left);
    else this.reserved.delete(endpointId);
    this.takenInAll -= 1;
  }

  /** Ignores the limits: for deliveries that are leased already. */
  enter(endpointId: string, item: Item): void {
    const queue = this.queues.get(endpointId);
    if (queue === undefined) this.queues.set(endpointId, [item]);
    else queue.push(item);
    this.takenInAll += 1;
  }

  /** The endpoints with waiting deliveries, the least recently served first. */
  endpoints(): string[] {
    return [...this.queues.keys()];
  }

  /** What `next` would take. */
  first(endpointId: string): Item | undefined {
    return this.queues.get(endpointId)?.[0];
  }

  next(endpointId: string): Item | undefined {
    const queue = this.queues.get(endpointId);
    const item = queue?.shift();
    if (queue === undefined || item === undefined) return undefined;
    this.queues.delete(endpointId);
    if (queue.length > 0) this.queues.set(endpointId, queue);
    this.takenInAll -= 1;
    return item;
  }

  private takenOf(endpointId: string): number {
    return (this.queues.get(endpointId)?.length ?? 0) + (this.reserved.get(endpointId) ?? 0);
  }
}
