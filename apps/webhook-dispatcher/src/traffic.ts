/**
 * Decides who may begin an attempt. An endpoint that hangs, fails or is slow uses up its own share and
 * nobody else's, and all such endpoints of an organization use up the share of that organization.
 *
 *   unknown ──answers quickly──► quick        quick slots: attempts that are over in a moment
 *      └────────────────┬──────────┘  ▲
 *          an attempt lasts too long  │       slow slots: all others
 *                       ▼             │
 *                     slow ──answers quickly
 *
 * What always holds:
 *
 * - Attempts to slow endpoints take slow slots only. An attempt that lasts too long moves to a slow slot.
 *   So the quick slots hold only attempts that have just begun, and those that wait for their record.
 * - A receiver is not blamed for the time in which this process had other work.
 * - An outcome that is not recorded yet keeps its slot. An endpoint that answers quickly need not wait for the record.
 * - Unknown endpoints share a part of the quick slots. A hundred endpoints that hang cannot take all of
 *   them after a start.
 * - Quick endpoints leave a few quick slots to unknown ones, which would never begin beside a long backlog.
 * - The unknown and slow endpoints of one organization together take half of the slow slots at most, less while
 *   others take some (organization-shares.ts), and three quarters with those attempts to its quick endpoints that
 *   turn out to be slow.
 * - Each success raises the number of concurrent attempts to an endpoint. Each failure halves it.
 * - After many failures in a row an endpoint is unhealthy: one attempt at a time, with a pause after
 *   each, until it answers again.
 */
import {
  type OrganizationLimits,
  OrganizationShares,
  type Planned,
  type ShareKind,
} from './organization-shares.js';

export interface TrafficLimits extends OrganizationLimits {
  /** Quick slots: attempts in flight for less than `slowAfterMs`. */
  readonly quickMax: number;
  /** Quick slots that attempts to unknown endpoints may take. */
  readonly unknownMax: number;
  /** Quick slots that attempts to quick endpoints may take. */
  readonly knownMax: number;
  /** Slow slots: attempts in flight for longer, and attempts to slow endpoints. */
  readonly slowMax: number;
  readonly slowAfterMs: number;
  /** The same while this process is busy: most of the time of an attempt may be its own then. */
  readonly slowAfterBusyMs: number;
  /** Concurrent attempts to one endpoint: at first, at most, and at most to a slow one. */
  readonly perEndpointInitial: number;
  readonly perEndpointMax: number;
  readonly slowPerEndpointMax: number;
  /** To one quick endpoint, with those whose outcome is not recorded yet. */
  readonly openPerEndpointMax: number;
  /** Failed attempts in a row after which an endpoint is unhealthy. */
  readonly unhealthyAfterFailures: number;
  /** The pause after each failed attempt to an unhealthy endpoint. */
  readonly unhealthyPauseMs: number;
  /** Endpoints remembered. Beyond that the least recently used one is forgotten. */
  readonly endpointsMax: number;
}

type Slot = 'quick' | 'slow';
type Speed = 'unknown' | Slot;

/** `answered`: the receiver accepted or refused it. `failed`: it will be retried. `none`: no attempt was made. */
export type AttemptResult = 'answered' | 'failed' | 'none';

/** An endpoint and whose it is. */
export interface OwnedEndpoint {
  readonly endpointId: string;
  readonly organizationId: string;
}

/** The right to one attempt, from before it begins until its outcome is recorded. */
export type Ticket = OwnedEndpoint;

interface OpenTicket extends Ticket {
  slot: Slot;
  isUnknown: boolean;
  readonly began: Moment;
  /** It is over, and its outcome is not recorded yet. */
  isOver: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Monotonic times, in ms. */
export interface Moment {
  readonly atMs: number;
  /** For how long this process has had nothing to do until then. */
  readonly idleMs: number;
}

/** A process that waited for less than this share of an attempt was busy. */
const idleShareMin = 0.25;

function momentNow(): Moment {
  return { atMs: performance.now(), idleMs: performance.eventLoopUtilization().idle };
}

interface Endpoint {
  /** Attempts under way. */
  inFlight: number;
  /** Outcomes that are not recorded yet. */
  unrecorded: number;
  /** Concurrent attempts, at present. */
  limit: number;
  speed: Speed;
  /** In a row. */
  failures: number;
  /** Monotonic. Nothing begins before. */
  closedUntilMs: number;
}

/** Attempts that are under way or not recorded yet. */
function openOf({ inFlight, unrecorded }: Endpoint): number {
  return inFlight + unrecorded;
}

/** What the attempt counts as in the share of its organization. */
function kindOf({ slot, isUnknown, isOver }: OpenTicket): ShareKind | null {
  if (slot === 'slow' || isUnknown) return 'slow';
  return isOver ? null : 'quick';
}

export class Traffic {
  private readonly endpoints = new Map<string, Endpoint>();
  /** Endpoints with open attempts, or closed at some time. Only these can lack room. */
  private readonly busy = new Set<string>();
  private readonly taken: Record<Slot, number> = { quick: 0, slow: 0 };
  private unknownTaken = 0;
  private readonly shares: OrganizationShares;
  private quickFreed: (endpointId: string) => void = () => undefined;

  constructor(
    private readonly limits: TrafficLimits,
    private readonly now: () => Moment = momentNow,
  ) {
    this.shares = new OrganizationShares(limits);
  }

  get inFlight(): number {
    return this.taken.quick + this.taken.slow;
  }

  /** Calls back when an attempt leaves its quick slot because it lasts too long. One listener: the engine. */
  whenQuickFreed(listener: (endpointId: string) => void): void {
    this.quickFreed = listener;
  }

  tryBegin(owned: OwnedEndpoint): Ticket | null {
    const endpoint = this.endpoints.get(owned.endpointId) ?? this.fresh();
    if (this.roomOf(endpoint) <= 0 || this.freeFor(endpoint.speed) <= 0) return null;
    if (this.shareLeft(owned.organizationId, endpoint.speed) <= 0) return null;
    return this.begin(owned);
  }

  /** Begins regardless of the limits: for deliveries that are leased already. */
  begin({ endpointId, organizationId }: OwnedEndpoint): Ticket {
    const endpoint = this.use(endpointId);
    const ticket: OpenTicket = {
      ...{ endpointId, organizationId },
      slot: endpoint.speed === 'slow' ? 'slow' : 'quick',
      isUnknown: endpoint.speed === 'unknown',
      began: this.now(),
      isOver: false,
      timer: undefined,
    };
    endpoint.inFlight += 1;
    this.taken[ticket.slot] += 1;
    if (ticket.isUnknown) this.unknownTaken += 1;
    this.changeShare(ticket, 1);
    if (ticket.slot === 'quick') this.watch(ticket);
    return ticket;
  }

  /** Until it is over, or lasts too long. */
  private watch(ticket: OpenTicket, afterMs = this.limits.slowAfterMs): void {
    ticket.timer = setTimeout(() => {
      const leftMs = this.allowedMs(ticket);
      if (leftMs <= 0) this.moveToSlow(ticket);
      else this.watch(ticket, Math.min(Math.ceil(leftMs), this.limits.slowAfterMs));
    }, afterMs).unref();
  }

  /** How much longer the attempt may last before its receiver counts as slow. */
  private allowedMs({ began }: OpenTicket): number {
    const { slowAfterMs, slowAfterBusyMs } = this.limits;
    const { atMs, idleMs } = this.now();
    const lastedMs = atMs - began.atMs;
    const wasBusy = idleMs - began.idleMs < lastedMs * idleShareMin;
    return (wasBusy ? slowAfterBusyMs : slowAfterMs) - lastedMs;
  }

  /**
   * The attempt is over: its endpoint may get the next one. It keeps its slot until `end`.
   * @param gotStatus whether a response arrived
   */
  attempted(ticket: Ticket, result: AttemptResult, gotStatus: boolean): void {
    const open = ticket as OpenTicket;
    clearTimeout(open.timer);
    const endpoint = this.use(open.endpointId);
    this.changeShare(open, -1);
    open.isOver = true;
    this.changeShare(open, 1);
    endpoint.inFlight -= 1;
    endpoint.unrecorded += 1;
    if (result === 'none') return;
    if (this.allowedMs(open) <= 0) this.slowDown(endpoint);
    else if (gotStatus) endpoint.speed = 'quick';
    if (result === 'answered') this.succeed(endpoint);
    else this.fail(endpoint);
  }

  end(ticket: Ticket): void {
    const open = ticket as OpenTicket;
    clearTimeout(open.timer);
    this.taken[open.slot] -= 1;
    if (open.isUnknown) this.unknownTaken -= 1;
    this.changeShare(open, -1);
    const endpoint = this.use(open.endpointId);
    if (open.isOver) endpoint.unrecorded -= 1;
    else endpoint.inFlight -= 1;
  }

  /** For a deleted endpoint: its deliveries are only to be ended, so they need not wait. */
  clearFailures(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    endpoint.failures = 0;
    endpoint.closedUntilMs = 0;
  }

  /** For an endpoint that was enabled: its deliveries need not wait any longer. */
  open(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint !== undefined) endpoint.closedUntilMs = 0;
  }

  /** Begins no attempt to the endpoint for a while. @returns whether it was open */
  close(endpointId: string, forMs: number): boolean {
    const endpoint = this.use(endpointId);
    const wasOpen = endpoint.closedUntilMs <= this.now().atMs;
    endpoint.closedUntilMs = Math.max(endpoint.closedUntilMs, this.now().atMs + forMs);
    return wasOpen;
  }

  /** Whether a delivery that is leased for the endpoint soon gets a slot. */
  isQuick(endpointId: string): boolean {
    const endpoint = this.endpoints.get(endpointId);
    return endpoint?.speed === 'quick' && !this.isUnhealthy(endpoint) && !this.isClosed(endpoint);
  }

  /** How many attempts the endpoint may begin now, however many slots are free. */
  room(endpointId: string): number {
    const endpoint = this.endpoints.get(endpointId);
    return endpoint === undefined ? this.limits.perEndpointInitial : this.roomOf(endpoint);
  }

  /** Endpoints with open attempts, and closed ones. Every other endpoint has room. */
  limited(): string[] {
    for (const endpointId of this.busy) {
      const endpoint = this.endpoints.get(endpointId);
      if (endpoint === undefined || (openOf(endpoint) === 0 && !this.isClosed(endpoint)))
        this.busy.delete(endpointId);
    }
    return [...this.busy];
  }

  /** Endpoints that answer quickly. */
  quick(): string[] {
    return [...this.endpoints].flatMap(([id, { speed }]) => (speed === 'quick' ? [id] : []));
  }

  speedOf(endpointId: string): Speed {
    return this.endpoints.get(endpointId)?.speed ?? 'unknown';
  }

  /** How many attempts to endpoints of that speed may begin now. */
  freeFor(speed: Speed): number {
    const { quickMax, slowMax, unknownMax, knownMax } = this.limits;
    const quick = quickMax - this.taken.quick;
    const slow = slowMax - this.taken.slow;
    const known = this.taken.quick - this.unknownTaken;
    if (speed === 'quick') return Math.min(quick, knownMax - known);
    // An unknown endpoint may turn out to be slow.
    return speed === 'slow' ? slow : Math.min(quick, slow, unknownMax - this.unknownTaken);
  }

  /** How many attempts to endpoints of that speed the organization may begin now, however many slots are free. */
  shareLeft(organizationId: string, speed: Speed, planned?: Planned): number {
    return this.shares.left(organizationId, speed === 'quick' ? 'quick' : 'slow', planned);
  }

  /** Whether the endpoint is closed for a while. */
  opensLater(endpointId: string): boolean {
    const endpoint = this.endpoints.get(endpointId);
    return endpoint !== undefined && this.isClosed(endpoint);
  }

  /** How long until the first closed endpoint opens, in ms; Infinity when none is closed. */
  opensInMs(): number {
    let first = Infinity;
    const nowMs = this.now().atMs;
    for (const endpointId of this.busy) {
      const { closedUntilMs = 0 } = this.endpoints.get(endpointId) ?? {};
      if (closedUntilMs > nowMs) first = Math.min(first, closedUntilMs - nowMs);
    }
    return first;
  }

  /** Endpoints whose last attempt failed, with their failures in a row, the worst first. */
  failing(): {
    readonly endpointId: string;
    readonly failures: number;
    readonly isUnhealthy: boolean;
  }[] {
    return [...this.endpoints]
      .filter(([, { failures }]) => failures > 0)
      .map(([endpointId, endpoint]) => ({
        endpointId,
        failures: endpoint.failures,
        isUnhealthy: this.isUnhealthy(endpoint),
      }))
      .sort((a, b) => b.failures - a.failures);
  }

  private changeShare(ticket: OpenTicket, change: 1 | -1): void {
    const kind = kindOf(ticket);
    if (kind !== null) this.shares.add(ticket.organizationId, kind, change);
  }

  private roomOf(endpoint: Endpoint): number {
    if (this.isClosed(endpoint)) return 0;
    const limit = this.isUnhealthy(endpoint) ? 1 : endpoint.limit;
    const open = openOf(endpoint);
    if (endpoint.speed !== 'quick') return Math.max(0, limit - open);
    return Math.max(0, Math.min(limit - endpoint.inFlight, this.limits.openPerEndpointMax - open));
  }

  private isClosed({ closedUntilMs }: Endpoint): boolean {
    return closedUntilMs > 0 && closedUntilMs > this.now().atMs;
  }

  private isUnhealthy({ failures }: Endpoint): boolean {
    return failures >= this.limits.unhealthyAfterFailures;
  }

  private succeed(endpoint: Endpoint): void {
    const { perEndpointMax, slowPerEndpointMax } = this.limits;
    const max = endpoint.speed === 'slow' ? slowPerEndpointMax : perEndpointMax;
    // An unhealthy endpoint that recovers gets its full limit at once: much may be waiting for it.
    endpoint.limit = this.isUnhealthy(endpoint) ? max : Math.min(max, endpoint.limit + 1);
    endpoint.failures = 0;
    endpoint.closedUntilMs = 0;
  }

  private fail(endpoint: Endpoint): void {
    endpoint.failures += 1;
    endpoint.limit = Math.max(1, Math.floor(endpoint.limit / 2));
    if (this.isUnhealthy(endpoint))
      endpoint.closedUntilMs = this.now().atMs + this.limits.unhealthyPauseMs;
  }

  private moveToSlow(ticket: OpenTicket): void {
    if (ticket.slot === 'slow') return;
    this.changeShare(ticket, -1);
    ticket.slot = 'slow';
    this.changeShare(ticket, 1);
    this.taken.quick -= 1;
    this.taken.slow += 1;
    if (ticket.isUnknown) this.unknownTaken -= 1;
    ticket.isUnknown = false;
    this.slowDown(this.use(ticket.endpointId));
    this.quickFreed(ticket.endpointId);
  }

  private slowDown(endpoint: Endpoint): void {
    if (endpoint.speed === 'slow') return;
    endpoint.speed = 'slow';
    endpoint.limit = Math.max(1, Math.min(this.limits.slowPerEndpointMax, endpoint.limit >> 1));
  }

  private use(endpointId: string): Endpoint {
    const known = this.endpoints.get(endpointId);
    const endpoint = known ?? this.fresh();
    if (known === undefined) this.forget();
    this.endpoints.delete(endpointId);
    this.endpoints.set(endpointId, endpoint);
    this.busy.add(endpointId);
    return endpoint;
  }

  private fresh(): Endpoint {
    return {
      inFlight: 0,
      unrecorded: 0,
      limit: this.limits.perEndpointInitial,
      speed: 'unknown',
      failures: 0,
      closedUntilMs: 0,
    };
  }

  /** Never forgets an endpoint with open attempts: their number would be lost. */
  private forget(): void {
    if (this.endpoints.size < this.limits.endpointsMax) return;
    for (const [endpointId, endpoint] of this.endpoints)
      if (openOf(endpoint) === 0) {
        this.endpoints.delete(endpointId);
        return;
      }
  }
}
