/** Compares all counters of Traffic with a plain list of open attempts, over random steps. */
import { jest } from '@jest/globals';
import { generator, type Random } from '@pis/local-servers/testing';
import {
  type AttemptResult,
  type OwnedEndpoint,
  type Ticket,
  Traffic,
  type TrafficLimits,
} from './traffic.js';

const limits: TrafficLimits = {
  ...{ quickMax: 20, unknownMax: 10, knownMax: 18, slowMax: 24 },
  ...{ slowPerOrganizationMax: 12, underWayPerOrganizationMax: 18 },
  ...{ slowAfterMs: 500, slowAfterBusyMs: 2_000 },
  ...{ perEndpointInitial: 2, perEndpointMax: 5, slowPerEndpointMax: 3, openPerEndpointMax: 7 },
  ...{ unhealthyAfterFailures: 4, unhealthyPauseMs: 300, endpointsMax: 6 },
};
/** More endpoints than are remembered. */
const endpoints: readonly OwnedEndpoint[] = Array.from({ length: 12 }, (_, n) => ({
  ...{ endpointId: `endpoint ${n}`, organizationId: `organization ${n % 3}` },
}));
const organizations = new Set(endpoints.map(({ organizationId }) => organizationId));
const steps = 2_500;

interface Attempt {
  readonly owned: OwnedEndpoint;
  readonly ticket: Ticket;
  readonly beganAtMs: number;
  readonly beganIdleMs: number;
  slot: 'quick' | 'slow';
  isUnknown: boolean;
  isOver: boolean;
  /** When it is looked at again, whether it lasts too long. */
  checkAtMs: number;
}

class Model {
  readonly open: Attempt[] = [];
  private atMs = performance.now();
  private idleMs = 0;
  /** The share of the time in which the process has nothing to do. */
  private idleShare = 1;
  readonly traffic = new Traffic(limits, () => {
    const atMs = performance.now();
    return { atMs, idleMs: this.idleMs + (atMs - this.atMs) * this.idleShare };
  });

  private idleAt(ms: number): number {
    return this.idleMs + (ms - this.atMs) * this.idleShare;
  }

  pass(ms: number, idleShare: number): void {
    this.idleShare = idleShare;
    jest.advanceTimersByTime(ms);
    const now = this.atMs + ms;
    for (const attempt of this.open)
      while (attempt.slot === 'quick' && !attempt.isOver && attempt.checkAtMs <= now)
        this.check(attempt);
    this.idleMs = this.idleAt(now);
    this.atMs = now;
  }

  private check(attempt: Attempt): void {
    const at = attempt.checkAtMs;
    const lasted = at - attempt.beganAtMs;
    const idle = this.idleAt(at) - attempt.beganIdleMs;
    const allowed = idle < lasted / 4 ? limits.slowAfterBusyMs : limits.slowAfterMs;
    if (lasted < allowed)
      attempt.checkAtMs = at + Math.min(limits.slowAfterMs, Math.ceil(allowed - lasted));
    else {
      attempt.slot = 'slow';
      attempt.isUnknown = false;
    }
  }

  begin(owned: OwnedEndpoint): void {
    const { traffic } = this;
    const { endpointId, organizationId } = owned;
    const speed = traffic.speedOf(endpointId);
    const left = [
      traffic.room(endpointId),
      traffic.freeFor(speed),
      traffic.shareLeft(organizationId, speed),
    ];
    const ticket = traffic.tryBegin(owned);
    expect(ticket !== null).toBe(left.every((n) => n > 0));
    if (ticket === null) return;
    this.open.push({
      ...{ owned, ticket, isOver: false, beganAtMs: this.atMs, beganIdleMs: this.idleMs },
      slot: speed === 'slow' ? 'slow' : 'quick',
      isUnknown: speed === 'unknown',
      checkAtMs: this.atMs + limits.slowAfterMs,
    });
    this.expectBoundsOfEndpoint(endpointId);
    if (speed === 'slow') expect(this.count(isSlow)).toBeLessThanOrEqual(limits.slowMax);
    if (speed !== 'quick')
      expect(this.count(isOf(organizationId), isOfShare)).toBeLessThanOrEqual(
        limits.slowPerOrganizationMax,
      );
  }

  private expectBoundsOfEndpoint(endpointId: string): void {
    const its = ({ owned }: Attempt) => owned.endpointId === endpointId;
    const [open, underWay] = [this.count(its), this.count(its, isUnderWay)];
    switch (this.traffic.speedOf(endpointId)) {
      case 'quick':
        expect(open).toBeLessThanOrEqual(limits.openPerEndpointMax);
        expect(underWay).toBeLessThanOrEqual(limits.perEndpointMax);
        break;
      case 'slow':
        expect(open).toBeLessThanOrEqual(limits.slowPerEndpointMax);
        break;
      case 'unknown':
        expect(open).toBeLessThanOrEqual(limits.perEndpointInitial);
    }
    const failing = this.traffic.failing().find((one) => one.endpointId === endpointId);
    if (failing?.isUnhealthy === true) expect(underWay).toBe(1);
  }

  over(attempt: Attempt, result: AttemptResult, gotStatus: boolean): void {
    this.traffic.attempted(attempt.ticket, result, result === 'answered' || gotStatus);
    attempt.isOver = true;
  }

  end(attempt: Attempt): void {
    this.open.splice(this.open.indexOf(attempt), 1);
    this.traffic.end(attempt.ticket);
  }

  expectCounters(): void {
    const { traffic } = this;
    const quick = this.count((attempt) => !isSlow(attempt));
    const unknown = this.count(({ isUnknown }) => isUnknown);
    expect(traffic.inFlight).toBe(this.open.length);
    expect(traffic.freeFor('slow')).toBe(limits.slowMax - this.count(isSlow));
    expect(traffic.freeFor('quick')).toBe(
      Math.min(limits.quickMax - quick, limits.knownMax - (quick - unknown)),
    );
    expect(traffic.freeFor('unknown')).toBe(
      Math.min(limits.quickMax - quick, traffic.freeFor('slow'), limits.unknownMax - unknown),
    );
    expect(quick).toBeLessThanOrEqual(limits.quickMax);
    for (const organizationId of organizations) this.expectShare(organizationId);
  }

  /** Whatever turns slow at once, others find slow slots that this organization does not take. */
  private expectShare(organizationId: string): void {
    const its = isOf(organizationId);
    const ofShare = this.count(its, isOfShare);
    const left =
      limits.underWayPerOrganizationMax -
      ofShare -
      this.count(its, isUnderWay, (attempt) => !isOfShare(attempt));
    expect(left).toBeGreaterThanOrEqual(0);
    expect(this.traffic.shareLeft(organizationId, 'quick')).toBe(left);
    expect(this.traffic.shareLeft(organizationId, 'slow')).toBe(
      Math.max(0, Math.min(left, limits.slowPerOrganizationMax - ofShare, this.fairLeft(ofShare))),
    );
  }

  /** As many as may begin so that the last one still finds no fewer slow slots than its organization has. */
  private fairLeft(ofShare: number): number {
    const free = limits.slowMax - this.count(isOfShare);
    let left = 0;
    while (ofShare + left < free - left) left += 1;
    return left;
  }

  private count(...which: readonly ((attempt: Attempt) => boolean)[]): number {
    return this.open.filter((attempt) => which.every((is) => is(attempt))).length;
  }
}

const isSlow = ({ slot }: Attempt) => slot === 'slow';
const isUnderWay = ({ isOver }: Attempt) => !isOver;
const isOfShare = ({ slot, isUnknown }: Attempt) => slot === 'slow' || isUnknown;
const isOf =
  (organizationId: string) =>
  ({ owned }: Attempt) =>
    owned.organizationId === organizationId;

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** What goes on for some steps. */
interface Phase {
  /** Most attempts go to it. */
  readonly favorite: OwnedEndpoint;
  readonly results: readonly AttemptResult[];
  /** Records are late: few outcomes are recorded. */
  readonly isLate: boolean;
}

function phaseOf(random: Random): Phase {
  return {
    favorite: pick(random, endpoints),
    results: pick(random, [['answered'], ['failed'], ['answered', 'failed', 'none']] as const),
    isLate: random(2) === 0,
  };
}

function step(model: Model, { favorite, results, isLate }: Phase, random: Random): void {
  const dice = random(100);
  const { open, traffic } = model;
  const some = random(4) > 0 ? favorite : pick(random, endpoints);
  if (dice < 45 || open.length === 0) model.begin(some);
  else if (dice < 65) {
    const underWay = open.filter(isUnderWay);
    if (underWay.length > 0)
      model.over(pick(random, underWay), pick(random, results), random(2) > 0);
  } else if (dice < 85) {
    const over = open.filter(({ isOver }) => isOver);
    if (over.length > 0 && (!isLate || random(20) === 0)) model.end(pick(random, over));
  } else if (dice < 87) model.end(pick(random, open));
  else if (dice < 88) traffic.close(some.endpointId, 200);
  else if (dice < 89) traffic.clearFailures(some.endpointId);
  else model.pass(random(pick(random, [10, 100, 1_000])), pick(random, [0, 0.25, 0.5, 1]));
}

describe('The slots of a dispatcher', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it.each([1, 2, 3, 4, 5])(
    'are counted right and kept within every bound, and all come back, after random steps from seed %i',
    (seed) => {
      const random = generator(seed);
      const model = new Model();
      let phase = phaseOf(random);
      for (let n = 0; n < steps; n += 1) {
        if (n % 50 === 0) phase = phaseOf(random);
        step(model, phase, random);
        model.expectCounters();
      }
      for (const attempt of [...model.open]) model.end(attempt);
      model.pass(60_000, 1);
      model.expectCounters();
      expect(model.traffic.limited()).toEqual([]);
      expect(model.traffic.freeFor('quick')).toBe(limits.knownMax);
      for (const { endpointId } of endpoints)
        expect(model.traffic.room(endpointId)).toBeGreaterThan(0);
      expect(jest.getTimerCount()).toBe(0);
    },
  );
});
