import { jest } from '@jest/globals';
import { type AttemptResult, type Ticket, Traffic, type TrafficLimits } from './traffic.js';

const limits: TrafficLimits = {
  quickMax: 20,
  unknownMax: 10,
  knownMax: 20,
  slowMax: 12,
  slowPerOrganizationMax: 12,
  underWayPerOrganizationMax: 32,
  slowAfterMs: 500,
  slowAfterBusyMs: 2_000,
  perEndpointInitial: 4,
  perEndpointMax: 8,
  slowPerEndpointMax: 3,
  openPerEndpointMax: 12,
  unhealthyAfterFailures: 5,
  unhealthyPauseMs: 1_000,
  endpointsMax: 5,
};

/** The process has nothing else to do. */
const idle = () => ({ atMs: performance.now(), idleMs: performance.now() });

describe('A client whose endpoint', () => {
  let traffic: Traffic;
  beforeEach(() => {
    jest.useFakeTimers();
    traffic = new Traffic(limits, idle);
  });
  afterEach(() => jest.useRealTimers());

  /** Of an organization with one endpoint, unless told otherwise. */
  const owned = (endpointId: string, organizationId = `owner of ${endpointId}`) => ({
    ...{ endpointId, organizationId },
  });
  const tryBegin = (endpointId: string) => traffic.tryBegin(owned(endpointId));
  const begin = (endpointId: string) => traffic.begin(owned(endpointId));
  const takeAll = (endpointId: string): Ticket[] => {
    const tickets: Ticket[] = [];
    for (let ticket = tryBegin(endpointId); ticket; ticket = tryBegin(endpointId))
      tickets.push(ticket);
    return tickets;
  };
  const over = (ticket: Ticket, result: AttemptResult, gotStatus = result === 'answered') => {
    traffic.attempted(ticket, result, gotStatus);
    traffic.end(ticket);
  };
  const attempt = (endpointId: string, result: AttemptResult) => {
    const ticket = tryBegin(endpointId);
    if (ticket === null) throw new Error('no slot');
    over(ticket, result);
  };
  const make = (times: number, endpointId: string, result: AttemptResult) => {
    for (let n = 0; n < times; n++) attempt(endpointId, result);
  };

  it('is new gets a few concurrent attempts, and one more with each answer', () => {
    expect(takeAll('new')).toHaveLength(4);
    make(2, 'good', 'answered');
    expect(takeAll('good')).toHaveLength(6);
    make(20, 'better', 'answered');
    expect(takeAll('better')).toHaveLength(8);
  });

  it('fails gets half as many concurrent attempts after each failure, but at least one', () => {
    make(10, 'bad', 'answered');
    expect(traffic.room('bad')).toBe(8);
    attempt('bad', 'failed');
    expect(traffic.room('bad')).toBe(4);
    make(3, 'bad', 'failed');
    expect(traffic.room('bad')).toBe(1);
  });

  it('fails many times in a row gets one attempt at a time, and its full limit as soon as it answers', () => {
    make(10, 'down', 'answered');
    make(5, 'down', 'failed');
    expect(tryBegin('down')).toBeNull();
    expect(traffic.opensInMs()).toBe(1_000);
    jest.advanceTimersByTime(1_000);
    const [only, ...others] = takeAll('down');
    expect(others).toHaveLength(0);
    if (only) over(only, 'failed');
    expect(traffic.room('down')).toBe(0);
    expect(traffic.failing()).toEqual([{ endpointId: 'down', failures: 6, isUnhealthy: true }]);
    jest.advanceTimersByTime(1_000);
    attempt('down', 'answered');
    expect(takeAll('down')).toHaveLength(8);
    expect(traffic.failing()).toEqual([]);
  });

  it('hangs leaves the quick slots to others after a moment', () => {
    const hanging = ['a', 'b', 'c'].flatMap(takeAll);
    // Unknown endpoints share a part of the quick slots.
    expect(hanging).toHaveLength(10);
    expect(traffic.freeFor('unknown')).toBe(0);
    expect(traffic.freeFor('quick')).toBe(10);
    const freed = jest.fn();
    traffic.whenQuickFreed(freed);
    jest.advanceTimersByTime(500);
    expect(freed).toHaveBeenCalledTimes(10);
    // It is slow from then on, before its attempts are over.
    expect(traffic.speedOf('a')).toBe('slow');
    expect(traffic.freeFor('quick')).toBe(20);
    expect(traffic.freeFor('slow')).toBe(2);
    expect(traffic.inFlight).toBe(10);
    for (const ticket of hanging) over(ticket, 'failed');
    expect(traffic.inFlight).toBe(0);
    // From now on its attempts take slow slots at once.
    expect(takeAll('a').length).toBeGreaterThan(0);
    expect(traffic.freeFor('quick')).toBe(20);
  });

  it('is one of many that hang waits when the slow slots are taken, like a new one, but unlike a known one', () => {
    for (let n = 0; n < 12; n++) begin(`hanging-${n}`);
    jest.advanceTimersByTime(500);
    expect(traffic.freeFor('slow')).toBe(0);
    expect(tryBegin('hanging-0')).toBeNull();
    expect(tryBegin('new')).toBeNull();
    traffic.attempted(begin('good'), 'answered', true);
    expect(tryBegin('good')).not.toBeNull();
  });

  it('is slow or new gets a slot although another organization has many endpoints that hang', () => {
    traffic = new Traffic({ ...limits, slowPerOrganizationMax: 6 }, idle);
    const hanging = [];
    for (let n = 0; n < limits.slowMax; n += 1) {
      const ticket = traffic.tryBegin(owned(`hanging-${n}`, 'many'));
      if (ticket !== null) hanging.push(ticket);
      jest.advanceTimersByTime(500);
    }
    expect(hanging).toHaveLength(6);
    expect([traffic.shareLeft('many', 'slow'), traffic.shareLeft('another', 'unknown')]).toEqual([
      0, 3,
    ]);
    // What answers quickly is not in that share.
    traffic.attempted(traffic.begin(owned('quick', 'many')), 'answered', true);
    expect(traffic.tryBegin(owned('quick', 'many'))).not.toBeNull();
    expect(traffic.tryBegin(owned('new', 'another'))).not.toBeNull();
    for (const ticket of hanging) over(ticket, 'failed');
    expect(traffic.tryBegin(owned('hanging-11', 'many'))).not.toBeNull();
  });

  it('is slow or new gets a slot although several organizations have many endpoints that hang', () => {
    const many = ['one', 'two', 'three', 'four'];
    const hanging: Ticket[] = [];
    for (let turn = 0; turn < 100; turn += 1) {
      const ticket = traffic.tryBegin(owned(`hanging-${turn}`, many[turn % many.length]));
      jest.advanceTimersByTime(500);
      if (ticket !== null) hanging.push(ticket);
      // Attempts end in the order in which they began, and their organizations begin the next ones.
      const [first] = hanging;
      if (first === undefined || turn % 3 > 0) continue;
      hanging.shift();
      over(first, 'failed');
    }
    const organizations = new Set(hanging.map(({ organizationId }) => organizationId));
    expect([...organizations].sort()).toEqual([...many].sort());
    expect(traffic.freeFor('slow')).toBeGreaterThanOrEqual(2);
    expect(traffic.tryBegin(owned('new', 'another'))).not.toBeNull();
  });

  it('got no attempt after all leaves its slot, and does not count as slow later', () => {
    traffic.end(begin('unused'));
    jest.advanceTimersByTime(500);
    expect(traffic.speedOf('unused')).toBe('unknown');
    expect(traffic.freeFor('quick')).toBe(20);
    expect(traffic.freeFor('slow')).toBe(12);
  });

  it('is slow gets its share of the slow slots, and becomes quick again when it answers quickly', () => {
    make(10, 'slow', 'answered');
    const ticket = begin('slow');
    jest.advanceTimersByTime(2_000);
    over(ticket, 'answered');
    expect(traffic.speedOf('slow')).toBe('slow');
    expect(traffic.isQuick('slow')).toBe(false);
    expect(takeAll('slow')).toHaveLength(3);
    const again = begin('slow');
    over(again, 'answered');
    expect(traffic.speedOf('slow')).toBe('quick');
  });

  it('answers in time is not slow because the process had other work meanwhile', () => {
    let busyMs = 0;
    traffic = new Traffic(limits, () => ({
      atMs: performance.now(),
      idleMs: performance.now() - busyMs,
    }));
    make(10, 'quick', 'answered');
    const ticket = begin('quick');
    busyMs += 1_000;
    jest.advanceTimersByTime(1_200);
    over(ticket, 'answered');
    expect(traffic.speedOf('quick')).toBe('quick');
    expect(takeAll('quick')).toHaveLength(8);
    // A process that is never idle does not wait for a receiver that hangs any longer than this.
    busyMs += 2_000;
    jest.advanceTimersByTime(1_999);
    expect(traffic.speedOf('quick')).toBe('quick');
    jest.advanceTimersByTime(1);
    expect(traffic.speedOf('quick')).toBe('slow');
    expect(traffic.freeFor('quick')).toBe(20);
  });

  it('answers quickly gets its next attempts before the outcomes of the last ones are recorded', () => {
    make(10, 'quick', 'answered');
    const first = takeAll('quick');
    expect(first).toHaveLength(8);
    for (const ticket of first) traffic.attempted(ticket, 'answered', true);
    // Outcomes keep their slots, and there is an end to them.
    expect(traffic.freeFor('quick')).toBe(12);
    const second = takeAll('quick');
    expect(second).toHaveLength(4);
    for (const ticket of second) traffic.attempted(ticket, 'answered', true);
    expect(tryBegin('quick')).toBeNull();
    expect(traffic.limited()).toEqual(['quick']);
    for (const ticket of [...first, ...second]) traffic.end(ticket);
    expect(traffic.freeFor('quick')).toBe(20);
    expect(traffic.room('quick')).toBe(8);
    expect(traffic.limited()).toEqual([]);
  });

  it('is new or slow gets the next attempt when the outcome of the last one is recorded', () => {
    const tickets = takeAll('refusing');
    for (const ticket of tickets) traffic.attempted(ticket, 'failed', false);
    expect(traffic.room('refusing')).toBe(0);
    for (const ticket of tickets) traffic.end(ticket);
    expect(traffic.room('refusing')).toBe(1);
  });

  it('is disabled gets no attempt for a while', () => {
    expect(traffic.close('off', 10_000)).toBe(true);
    expect(traffic.close('off', 10_000)).toBe(false);
    expect(tryBegin('off')).toBeNull();
    expect(traffic.limited()).toEqual(['off']);
    jest.advanceTimersByTime(10_000);
    expect(traffic.limited()).toEqual([]);
    expect(tryBegin('off')).not.toBeNull();
  });

  it('was deleted while it failed no longer counts as failing, and its deliveries do not wait', () => {
    make(5, 'gone', 'failed');
    expect(tryBegin('gone')).toBeNull();
    traffic.clearFailures('gone');
    expect(traffic.failing()).toEqual([]);
    expect(tryBegin('gone')).not.toBeNull();
  });

  it('refuses connections is not taken for a quick one', () => {
    attempt('refusing', 'failed');
    expect(traffic.speedOf('refusing')).toBe('unknown');
    expect(traffic.isQuick('refusing')).toBe(false);
  });

  it('has been unused for long is forgotten, but not while attempts are in flight', () => {
    const ticket = begin('first');
    for (let n = 0; n < 10; n++) make(1, `other-${n}`, 'failed');
    expect(traffic.failing()).toHaveLength(4);
    over(ticket, 'answered');
    expect(traffic.inFlight).toBe(0);
    expect(traffic.room('first')).toBe(5);
  });
});
