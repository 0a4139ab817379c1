/**
 * Decides what this process claims from the table: of each endpoint with due deliveries as many as can
 * begin soon, in fair shares, the longest wait first. Endpoints without room are skipped, and their
 * backlog is not read. So are endpoints of an organization that has used up its share.
 */
import type { AgreeingClocks } from '@pis/postgres';
import type { Delivery, DeliveryTable } from '@pis/webhook-deliveries';
import { nothingPlanned } from './organization-shares.js';
import type { OwnedEndpoint, Traffic } from './traffic.js';
import type { WaitingRoom } from './waiting-room.js';

/** A delivery leased to us. */
export interface ClaimedWork {
  readonly delivery: Delivery;
  /** Monotonic time before the lease was taken. */
  readonly leasedAtMs: number;
}

export interface ClaimsDeps {
  readonly table: Pick<DeliveryTable, 'due' | 'claim' | 'leased'>;
  readonly traffic: Traffic;
  readonly waiting: WaitingRoom<ClaimedWork>;
  /** Ids of the deliveries that are leased to this process. */
  readonly atWork: ReadonlySet<string>;
  readonly now: () => Date;
  /** Asked before anything is taken from the table. */
  readonly clocks: Pick<AgreeingClocks, 'require'>;
  /** The longest time until the next pass. */
  readonly pollMs: () => number;
  readonly limits: {
    readonly batchMax: number;
    readonly dueEndpointsMax: number;
    readonly leaseMs: number;
    readonly postponeMs: number;
  };
}

interface Lease {
  readonly endpointIds: readonly string[];
  readonly leasedUntil: Date;
  readonly leasedAtMs: number;
}

export interface Pass {
  readonly works: readonly ClaimedWork[];
  /** How long until there may be something to do. */
  readonly waitMs: number;
}

export class Claims {
  /** Endpoints that have, or may have, more due deliveries than they could begin. */
  private crowded = new Set<string>();
  /** Endpoints with due deliveries that were left because the share of their organization was used up. */
  private withheld = new Map<string, string>();
  /** Whether the last pass left due deliveries because no slot was free for them. */
  private isStarved = false;
  /** Whether the last pass considered quick endpoints only, because no other endpoint had a slot. */
  private onlyQuick = false;
  /** A claim that was not answered. If it was executed, nobody else takes its deliveries before the lease ends. */
  private unanswered: Lease | null = null;

  constructor(private readonly deps: ClaimsDeps) {}

  /** Due deliveries of this endpoint were left in the table. */
  expect(endpointId: string): void {
    this.crowded.add(endpointId);
  }

  /** Whether a pass would find a delivery to begin, now that a slot of this endpoint is free. */
  wants(endpointId: string): boolean {
    if (this.isStarved || (this.onlyQuick && this.deps.traffic.freeFor('slow') > 0)) return true;
    for (const withheldId of this.withheld.keys()) if (!this.isWithheld(withheldId)) return true;
    return this.crowded.has(endpointId) && this.roomOf(endpointId) > 0;
  }

  /** @throws ClocksDiffer, when there is something to take; errors of the table */
  async pass(): Promise<Pass> {
    const { table, traffic, limits, now } = this.deps;
    const left = await this.leftByUnanswered();
    if (left.length > 0) return { works: left, waitMs: 0 };
    this.withheld = new Map([...this.withheld].filter(([id]) => this.isWithheld(id)));
    // Now: one that is skipped may have opened before the answer comes.
    const opensInMs = traffic.opensInMs();
    const withoutRoom = traffic.limited().filter((endpointId) => this.roomOf(endpointId) === 0);
    const full = [...new Set([...withoutRoom, ...this.withheld.keys()])];
    // The next pass considers what is left in the table during this one.
    this.crowded = new Set(full.filter((endpointId) => this.crowded.has(endpointId)));
    const time = now();
    const leasedAtMs = performance.now();
    this.onlyQuick = traffic.freeFor('slow') <= 0;
    const { endpoints, nextDueAt } = await table.due(time, {
      except: full,
      // Many endpoints that hang, and have waited longer, must not come before those that could begin.
      only: this.onlyQuick ? traffic.quick() : null,
      max: limits.dueEndpointsMax,
    });
    const room = this.allot(endpoints);
    if (room.size > 0) await this.deps.clocks.require();
    const leasedUntil = new Date(time.getTime() + limits.leaseMs);
    let claimed: readonly Delivery[] = [];
    if (room.size > 0) {
      this.unanswered = { endpointIds: [...room.keys()], leasedUntil, leasedAtMs };
      claimed = await table.claim({ now: time, leasedUntil, room });
      this.unanswered = null;
    }
    this.remember(endpoints, room, claimed);
    // Endpoints that are withheld from now on may have come before others that could begin.
    const mayHideOthers =
      endpoints.length >= limits.dueEndpointsMax &&
      endpoints.some(({ endpointId }) => this.isWithheld(endpointId));
    const works = claimed.map((delivery) => ({ delivery, leasedAtMs }));
    if (works.length > 0 || mayHideOthers) return { works, waitMs: 0 };
    const untilDueMs = nextDueAt === null ? Infinity : nextDueAt.getTime() - time.getTime();
    return { works, waitMs: this.waitMs(room.size > 0, Math.min(untilDueMs, opensInMs)) };
  }

  private async leftByUnanswered(): Promise<readonly ClaimedWork[]> {
    if (this.unanswered === null) return [];
    await this.deps.clocks.require();
    const { endpointIds, leasedUntil, leasedAtMs } = this.unanswered;
    const left = await this.deps.table.leased(endpointIds, leasedUntil, [...this.deps.atWork]);
    this.unanswered = null;
    return left.map((delivery) => ({ delivery, leasedAtMs }));
  }

  /** Slots and places in the waiting room, in proportion to how many endpoints want them. */
  private allot(endpoints: readonly OwnedEndpoint[]): Map<string, number> {
    const { traffic, waiting, limits } = this.deps;
    const bySpeed = Map.groupBy(endpoints, ({ endpointId }) => traffic.speedOf(endpointId));
    // Slow and unknown endpoints have a share in common.
    const givenTo = { quick: new Map<string, number>(), slow: new Map<string, number>() };
    const room = new Map<string, number>();
    let left = limits.batchMax;
    let ofAll = 0;
    for (const [speed, owned] of bySpeed) {
      const kind = speed === 'quick' ? 'quick' : 'slow';
      let free = traffic.freeFor(speed) + (speed === 'quick' ? waiting.free : 0);
      const share = Math.max(1, Math.floor(Math.min(free, left) / owned.length));
      for (const { endpointId, organizationId } of owned) {
        const own = givenTo[kind].get(organizationId) ?? 0;
        const allowed = this.leftOf(organizationId, endpointId, { ofAll, own });
        const given = Math.min(share, free, left, this.roomOf(endpointId), allowed);
        if (allowed <= 0) this.withheld.set(endpointId, organizationId);
        if (given <= 0) continue;
        givenTo[kind].set(organizationId, own + given);
        room.set(endpointId, given);
        if (kind === 'slow') ofAll += given;
        free -= given;
        left -= given;
      }
    }
    return room;
  }

  /** What the organization may still take of slots, and of places in the waiting room if the endpoint is quick. */
  private leftOf(organizationId: string, endpointId: string, planned = nothingPlanned): number {
    const { traffic, waiting } = this.deps;
    const speed = traffic.speedOf(endpointId);
    if (speed !== 'quick') return traffic.shareLeft(organizationId, speed, planned);
    const share = traffic.shareLeft(organizationId, speed);
    // What the share of a quick endpoint lacks at the moment may wait.
    const places = share === 0 ? 0 : waiting.refillOf(organizationId);
    return places === 0 ? 0 : Math.max(0, share + places - planned.own);
  }

  /** Whether an endpoint that was left still waits for the share of its organization. */
  private isWithheld(endpointId: string): boolean {
    const organizationId = this.withheld.get(endpointId);
    return organizationId !== undefined && this.leftOf(organizationId, endpointId) === 0;
  }

  private roomOf(endpointId: string): number {
    if (this.isWithheld(endpointId)) return 0;
    const { traffic, waiting } = this.deps;
    const slots = traffic.room(endpointId);
    if (!traffic.isQuick(endpointId)) return slots;
    const places = waiting.refill(endpointId);
    // One at a time would cost a statement each. Slots are refilled through the waiting room.
    return places === 0 ? 0 : slots + places;
  }

  /** An endpoint that filled its share, or got none, may have more due deliveries. */
  private remember(
    endpoints: readonly OwnedEndpoint[],
    room: ReadonlyMap<string, number>,
    claimed: readonly Delivery[],
  ): void {
    const counts = new Map<string, number>();
    for (const { endpointId } of claimed) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
    const considered = endpoints.filter(
      ({ endpointId }) => room.has(endpointId) || !this.withheld.has(endpointId),
    );
    for (const { endpointId } of considered)
      if ((counts.get(endpointId) ?? 0) >= (room.get(endpointId) ?? 0))
        this.crowded.add(endpointId);
    this.isStarved = considered.some(({ endpointId }) => !room.has(endpointId));
  }

  private waitMs(wasRefused: boolean, untilNextMs: number): number {
    const { limits, pollMs } = this.deps;
    // Other dispatchers have just leased the due deliveries.
    if (wasRefused) return limits.postponeMs;
    return Math.max(1, Math.min(pollMs(), untilNextMs));
  }
}
