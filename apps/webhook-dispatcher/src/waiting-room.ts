/**
 * Leased deliveries that wait for a slot, in a short queue per endpoint. They need not be read from the
 * table when a slot is free. Bounded per endpoint, per organization and in all.
 */
import type { OwnedEndpoint } from './traffic.js';

export interface WaitingRoomLimits {
  readonly waitingMax: number;
  readonly waitingPerEndpointMax: number;
  /** When the share of an organization is used up, what waits for it stays. Others must have places meanwhile. */
  readonly waitingPerOrganizationMax: number;
}

interface Waiting<Item> {
  readonly organizationId: string;
  readonly item: Item;
}

export class WaitingRoom<Item> {
  private readonly queues = new Map<string, Waiting<Item>[]>();
  /** Places reserved for deliveries that are still being stored. */
  private readonly reserved = new Map<string, number>();
  /** Places taken, with reserved ones, by organization. Only organizations that have any. */
  private readonly takenOf = new Map<string, number>();
  private takenInAll = 0;

  constructor(private readonly limits: WaitingRoomLimits) {}

  /** Free places. */
  get free(): number {
    return Math.max(0, this.limits.waitingMax - this.takenInAll);
  }

  /** Free places of the endpoint. 0 while its queue is more than half full, so that refills are large. */
  refill(endpointId: string): number {
    const { waitingMax, waitingPerEndpointMax } = this.limits;
    const taken = this.takenBy(endpointId);
    if (taken > waitingPerEndpointMax / 2) return 0;
    return Math.max(0, Math.min(waitingPerEndpointMax - taken, waitingMax - this.takenInAll));
  }

  /** Places that the organization may still take. 0 while it has more than half of its places, as above. */
  refillOf(organizationId: string): number {
    const { waitingPerOrganizationMax } = this.limits;
    const taken = this.takenOf.get(organizationId) ?? 0;
    return taken > waitingPerOrganizationMax / 2 ? 0 : waitingPerOrganizationMax - taken;
  }

  tryReserve({ endpointId, organizationId }: OwnedEndpoint): boolean {
    const { waitingMax, waitingPerEndpointMax, waitingPerOrganizationMax } = this.limits;
    if (this.takenInAll >= waitingMax || this.takenBy(endpointId) >= waitingPerEndpointMax)
      return false;
    if ((this.takenOf.get(organizationId) ?? 0) >= waitingPerOrganizationMax) return false;
    this.reserved.set(endpointId, (this.reserved.get(endpointId) ?? 0) + 1);
    this.take(organizationId, 1);
    return true;
  }

  giveUp({ endpointId, organizationId }: OwnedEndpoint): void {
    const left = (this.reserved.get(endpointId) ?? 0) - 1;
    if (left > 0) this.reserved.set(endpointId, left);
    else this.reserved.delete(endpointId);
    this.take(organizationId, -1);
  }

  /** Ignores the limits: for deliveries that are leased already. */
  enter({ endpointId, organizationId }: OwnedEndpoint, item: Item): void {
    const queue = this.queues.get(endpointId);
    if (queue === undefined) this.queues.set(endpointId, [{ organizationId, item }]);
    else queue.push({ organizationId, item });
    this.take(organizationId, 1);
  }

  /** The endpoints with waiting deliveries, the least recently served first. */
  endpoints(): string[] {
    return [...this.queues.keys()];
  }

  /** What `next` would take. */
  first(endpointId: string): Item | undefined {
    return this.queues.get(endpointId)?.[0]?.item;
  }

  next(endpointId: string): Item | undefined {
    const queue = this.queues.get(endpointId);
    const waiting = queue?.shift();
    if (queue === undefined || waiting === undefined) return undefined;
    this.queues.delete(endpointId);
    if (queue.length > 0) this.queues.set(endpointId, queue);
    this.take(waiting.organizationId, -1);
    return waiting.item;
  }

  private take(organizationId: string, change: 1 | -1): void {
    const taken = (this.takenOf.get(organizationId) ?? 0) + change;
    if (taken === 0) this.takenOf.delete(organizationId);
    else this.takenOf.set(organizationId, taken);
    this.takenInAll += change;
  }

  private takenBy(endpointId: string): number {
    return (this.queues.get(endpointId)?.length ?? 0) + (this.reserved.get(endpointId) ?? 0);
  }
}
