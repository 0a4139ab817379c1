/**
 * Who may begin an attempt, so that an endpoint that hangs, fails or is slow takes its own time and
 * nobody else's.
 *
 *   unknown ──answers quickly──► quick        quick lane: attempts that are over in a moment
 *      └────────────────┬──────────┘  ▲
 *          an attempt lasts too long  │       slow lane: those that are not
 *                       ▼             │
 *                     slow ──answers quickly
 *
 * What always holds: attempts of slow endpoints are counted in the slow lane alone, and one that lasts
 * too long moves there; so the quick lane is full only of attempts that have just begun. Endpoints of
 * which nothing is known yet share a part of it, lest a hundred that hang take all of it after a start.
 * Per endpoint the number of attempts at once grows with each success and is halved by each failure;
 * after many failures in a row an endpoint is ailing: one attempt at a time, with a pause in between,
 * until it answers again.
 */
export interface TrafficLimits {
  /** Attempts in flight that have not lasted long, */
  readonly quickMax: number;
  /** of these to endpoints of which nothing is known, */
  readonly unknownMax: number;
  /** and those that have lasted longer than `slowAfterMs`, or are to endpoints that are slow. */
  readonly slowMax: number;
  readonly slowAfterMs: number;
  /** Attempts at once to one endpoint: at first, at most, and at most to a slow one. */
  readonly perEndpointInitial: number;
  readonly perEndpointMax: number;
  readonly slowPerEndpointMax: number;
  /** Failed attempts in a row after which an endpoint is ailing, */
  readonly ailingAfterFailures: number;
  /** and how long it is then left alone after each attempt. */
  readonly ailingPauseMs: number;
  /** Endpoints remembered; the one not used for longest is forgotten. */
  readonly endpointsMax: number;
}

type Lane = 'quick' | 'slow';
type Speed = 'unknown' | Lane;

/** `answered`: the receiver took or refused it; `failed`: it is to be tried again; `none`: no attempt was made. */
export type AttemptResult = 'answered' | 'failed' | 'none';

/** The right to one attempt, from before it begins until what came of it is recorded. */
export interface Ticket {
  readonly endpointId: string;
}

interface OpenTicket extends Ticket {
  lane: Lane;
  isUnknown: boolean;
  beganAtMs: number;
  timer: NodeJS.Timeout | undefined;
}

interface Endpoint {
  inFlight: number;
  /** Attempts at once, at present. */
  limit: number;
  speed: Speed;
  /** In a row. */
  failures: number;
  /** Monotonic; until then nothing is begun. */
  closedUntilMs: number;
}

export class Traffic {
  private readonly endpoints = new Map<string, Endpoint>();
  /** Those with attempts in flight, or closed at some time: the only ones that may have no room. */
  private readonly busy = new Set<string>();
  private readonly taken: Record<Lane, number> = { quick: 0, slow: 0 };
  private unknownTaken = 0;

  constructor(
    private readonly limits: TrafficLimits,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get inFlight(): number {
    return this.taken.quick + this.taken.slow;
  }

  get quickIsFull(): boolean {
    return this.taken.quick >= this.limits.quickMax;
  }

  tryBegin(endpointId: string): Ticket | null {
    const endpoint = this.endpoints.get(endpointId) ?? this.fresh();
    if (this.roomOf(endpoint) <= 0 || this.freeFor(endpoint.speed) <= 0) return null;
    return this.begin(endpointId);
  }

  /** Begins whatever the limits say: for what is leased already. */
  begin(endpointId: string): Ticket {
    const endpoint = this.use(endpointId);
    const ticket: OpenTicket = {
      endpointId,
      lane: endpoint.speed === 'slow' ? 'slow' : 'quick',
      isUnknown: endpoint.speed === 'unknown',
      beganAtMs: this.nowMs(),
      timer: undefined,
    };
    endpoint.inFlight += 1;
    this.taken[ticket.lane] += 1;
    if (ticket.isUnknown) this.unknownTaken += 1;
    if (ticket.lane === 'quick')
      ticket.timer = setTimeout(() => this.moveToSlow(ticket), this.limits.slowAfterMs).unref();
    return ticket;
  }

  /** The attempt is over; its slot is kept until `end`. @param gotStatus whether a response arrived */
  attempted(ticket: Ticket, result: AttemptResult, gotStatus: boolean): void {
    const open = ticket as OpenTicket;
    clearTimeout(open.timer);
    const endpoint = this.use(open.endpointId);
    if (result === 'none') return;
    const isQuick = this.nowMs() - open.beganAtMs < this.limits.slowAfterMs;
    if (!isQuick) this.slowDown(endpoint);
    else if (gotStatus) endpoint.speed = 'quick';
    if (result === 'answered') this.succeed(endpoint);
    else this.fail(endpoint);
  }

  end(ticket: Ticket): void {
    const open = ticket as OpenTicket;
    clearTimeout(open.timer);
    this.taken[open.lane] -= 1;
    if (open.isUnknown) this.unknownTaken -= 1;
    this.use(open.endpointId).inFlight -= 1;
  }

  /** Holds no failure against the endpoint any more: it was deleted, and its deliveries are only to be ended. */
  excuse(endpointId: string): void {
    const endpoint = this.endpoints.get(endpointId);
    if (endpoint === undefined) return;
    endpoint.failures = 0;
    endpoint.closedUntilMs = 0;
  }

  /** Begins nothing to the endpoint for a while. @returns whether it was open */
  close(endpointId: string, forMs: number): boolean {
    const endpoint = this.use(endpointId);
    const wasOpen = endpoint.closedUntilMs <= this.nowMs();
    endpoint.closedUntilMs = this.nowMs() + forMs;
    return wasOpen;
  }

  /** Whether what is leased for the endpoint will soon have its turn. */
  isQuick(endpointId: string): boolean {
    const endpoint = this.endpoints.get(endpointId);
    return endpoint?.speed === 'quick' && !this.isAiling(endpoint) && !this.isClosed(endpoint);
  }

  /** How many attempts the endpoint may begin now, whatever the lanes have left. */
  room(endpointId: string): number {
    const endpoint = this.endpoints.get(endpointId);
    return endpoint === undefined ? this.limits.perEndpointInitial : this.roomOf(endpoint);
  }

  /** Endpoints with attempts in flight or closed; every other one has room. */
  limited(): string[] {
    for (const endpointId of this.busy) {
      const endpoint = this.endpoints.get(endpointId);
      if (endpoint === undefined || (endpoint.inFlight === 0 && !this.isClosed(endpoint)))
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
    const { quickMax, slowMax, unknownMax } = this.limits;
    const quick = quickMax - this.taken.quick;
    const slow = slowMax - this.taken.slow;
    if (speed === 'quick') return quick;
    // Whatever is unknown may turn out to be slow.
    return speed === 'slow' ? slow : Math.min(quick, slow, unknownMax - this.unknownTaken);
  }

  /** How long until the first closed endpoint opens, in ms; Infinity when none is closed. */
  opensInMs(): number {
    let first = Infinity;
    const nowMs = this.nowMs();
    for (const endpointId of this.busy) {
      const { closedUntilMs = 0 } = this.endpoints.get(endpointId) ?? {};
      if (closedUntilMs > nowMs) first = Math.min(first, closedUntilMs - nowMs);
    }
    return first;
  }

  /** Failures in a row of the endpoints that fail, the worst first. */
  failing(): {
    readonly endpointId: string;
    readonly failures: number;
    readonly isAiling: boolean;
  }[] {
    return [...this.endpoints]
      .filter(([, { failures }]) => failures > 0)
      .map(([endpointId, endpoint]) => ({
        endpointId,
        failures: endpoint.failures,
        isAiling: this.isAiling(endpoint),
      }))
      .sort((a, b) => b.failures - a.failures);
  }

  private roomOf(endpoint: Endpoint): number {
    if (this.isClosed(endpoint)) return 0;
    const limit = this.isAiling(endpoint) ? 1 : endpoint.limit;
    return Math.max(0, limit - endpoint.inFlight);
  }

  private isClosed({ closedUntilMs }: Endpoint): boolean {
    return closedUntilMs > this.nowMs();
  }

  private isAiling({ failures }: Endpoint): boolean {
    return failures >= this.limits.ailingAfterFailures;
  }

  private succeed(endpoint: Endpoint): void {
    const { perEndpointMax, slowPerEndpointMax } = this.limits;
    const max = endpoint.speed === 'slow' ? slowPerEndpointMax : perEndpointMax;
    // Back from where nothing came, it gets everything at once: much may be waiting for it.
    endpoint.limit = this.isAiling(endpoint) ? max : Math.min(max, endpoint.limit + 1);
    endpoint.failures = 0;
    endpoint.closedUntilMs = 0;
  }

  private fail(endpoint: Endpoint): void {
    endpoint.failures += 1;
    endpoint.limit = Math.max(1, Math.floor(endpoint.limit / 2));
    if (this.isAiling(endpoint)) endpoint.closedUntilMs = this.nowMs() + this.limits.ailingPauseMs;
  }

  private moveToSlow(ticket: OpenTicket): void {
    if (ticket.lane === 'slow') return;
    ticket.lane = 'slow';
    this.taken.quick -= 1;
    this.taken.slow += 1;
    if (ticket.isUnknown) this.unknownTaken -= 1;
    ticket.isUnknown = false;
    this.slowDown(this.use(ticket.endpointId));
    this.onQuickFreed();
  }

  /** Told when an attempt has left the quick lane by lasting too long. */
  onQuickFreed: () => void = () => undefined;

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
      limit: this.limits.perEndpointInitial,
      speed: 'unknown',
      failures: 0,
      closedUntilMs: 0,
    };
  }

  /** One with attempts in flight is never forgotten: its number would be lost. */
  private forget(): void {
    if (this.endpoints.size < this.limits.endpointsMax) return;
    for (const [endpointId, { inFlight }] of this.endpoints)
      if (inFlight === 0) {
        this.endpoints.delete(endpointId);
        return;
      }
  }
}
