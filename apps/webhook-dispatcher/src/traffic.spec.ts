import { jest } from '@jest/globals';
import { type AttemptResult, type Ticket, Traffic, type TrafficLimits } from './traffic.js';

const limits: TrafficLimits = {
  quickMax: 20,
  unknownMax: 10,
  slowMax: 12,
  slowAfterMs: 500,
  perEndpointInitial: 4,
  perEndpointMax: 8,
  slowPerEndpointMax: 3,
  ailingAfterFailures: 5,
  ailingPauseMs: 1_000,
  endpointsMax: 5,
};

describe('A client whose endpoint', () => {
  let traffic: Traffic;
  beforeEach(() => {
    jest.useFakeTimers();
    traffic = new Traffic(limits);
  });
  afterEach(() => jest.useRealTimers());

  const takeAll = (endpointId: string): Ticket[] => {
    const tickets: Ticket[] = [];
    for (let ticket = traffic.tryBegin(endpointId); ticket; ticket = traffic.tryBegin(endpointId))
      tickets.push(ticket);
    return tickets;
  };
  const over = (ticket: Ticket, result: AttemptResult, gotStatus = result === 'answered') => {
    traffic.attempted(ticket, result, gotStatus);
    traffic.end(ticket);
  };
  const attempt = (endpointId: string, result: AttemptResult) => {
    const ticket = traffic.tryBegin(endpointId);
    if (ticket === null) throw new Error('no slot');
    over(ticket, result);
  };
  const make = (times: number, endpointId: string, result: AttemptResult) => {
    for (let n = 0; n < times; n++) attempt(endpointId, result);
  };

  it('is new gets a few attempts at once, and more with each that it answers', () => {
    expect(takeAll('new')).toHaveLength(4);
    make(2, 'good', 'answered');
    expect(takeAll('good')).toHaveLength(6);
    make(20, 'better', 'answered');
    expect(takeAll('better')).toHaveLength(8);
  });

  it('fails gets half as many each time, and never none', () => {
    make(10, 'bad', 'answered');
    expect(traffic.room('bad')).toBe(8);
    attempt('bad', 'failed');
    expect(traffic.room('bad')).toBe(4);
    make(3, 'bad', 'failed');
    expect(traffic.room('bad')).toBe(1);
  });

  it('fails many times in a row is tried one at a time with a pause, until it answers: then fully at once', () => {
    make(10, 'down', 'answered');
    make(5, 'down', 'failed');
    expect(traffic.tryBegin('down')).toBeNull();
    expect(traffic.opensInMs()).toBe(1_000);
    jest.advanceTimersByTime(1_000);
    const [only, ...others] = takeAll('down');
    expect(others).toHaveLength(0);
    if (only) over(only, 'failed');
    expect(traffic.room('down')).toBe(0);
    expect(traffic.failing()).toEqual([{ endpointId: 'down', failures: 6, isAiling: true }]);
    jest.advanceTimersByTime(1_000);
    attempt('down', 'answered');
    expect(takeAll('down')).toHaveLength(8);
    expect(traffic.failing()).toEqual([]);
  });

  it('hangs leaves the quick lane free for others after a moment', () => {
    const hanging = ['a', 'b', 'c'].flatMap(takeAll);
    // Nothing is known of them: they share a part of the lane.
    expect(hanging).toHaveLength(10);
    expect(traffic.freeFor('unknown')).toBe(0);
    expect(traffic.freeFor('quick')).toBe(10);
    const freed = jest.fn();
    traffic.onQuickFreed = freed;
    jest.advanceTimersByTime(500);
    expect(freed).toHaveBeenCalledTimes(10);
    expect(traffic.freeFor('quick')).toBe(20);
    expect(traffic.freeFor('slow')).toBe(2);
    expect(traffic.inFlight).toBe(10);
    for (const ticket of hanging) over(ticket, 'failed');
    expect(traffic.inFlight).toBe(0);
    // From now on it is counted in the slow lane at once.
    expect(takeAll('a').length).toBeGreaterThan(0);
    expect(traffic.freeFor('quick')).toBe(20);
  });

  it('is one of many that hang finds the slow lane bounded, and new ones wait rather than those that are known', () => {
    for (let n = 0; n < 12; n++) traffic.begin(`hanging-${n}`);
    jest.advanceTimersByTime(500);
    expect(traffic.freeFor('slow')).toBe(0);
    expect(traffic.tryBegin('hanging-0')).toBeNull();
    expect(traffic.tryBegin('new')).toBeNull();
    traffic.attempted(traffic.begin('good'), 'answered', true);
    expect(traffic.tryBegin('good')).not.toBeNull();
  });

  it('is slow but answers gets its share of the slow lane, and all of it back when it is quick again', () => {
    make(10, 'slow', 'answered');
    const ticket = traffic.begin('slow');
    jest.advanceTimersByTime(2_000);
    over(ticket, 'answered');
    expect(traffic.speedOf('slow')).toBe('slow');
    expect(traffic.isQuick('slow')).toBe(false);
    expect(takeAll('slow')).toHaveLength(3);
    const again = traffic.begin('slow');
    over(again, 'answered');
    expect(traffic.speedOf('slow')).toBe('quick');
  });

  it('is disabled is left alone for a while', () => {
    expect(traffic.close('off', 10_000)).toBe(true);
    expect(traffic.close('off', 10_000)).toBe(false);
    expect(traffic.tryBegin('off')).toBeNull();
    expect(traffic.limited()).toEqual(['off']);
    jest.advanceTimersByTime(10_000);
    expect(traffic.limited()).toEqual([]);
    expect(traffic.tryBegin('off')).not.toBeNull();
  });

  it('was deleted while it failed is not counted among those that fail, and what waits for it ends at once', () => {
    make(5, 'gone', 'failed');
    expect(traffic.tryBegin('gone')).toBeNull();
    traffic.excuse('gone');
    expect(traffic.failing()).toEqual([]);
    expect(traffic.tryBegin('gone')).not.toBeNull();
  });

  it('was not used for long is forgotten, but not while attempts are in flight', () => {
    const ticket = traffic.begin('first');
    for (let n = 0; n < 10; n++) make(1, `other-${n}`, 'failed');
    expect(traffic.failing()).toHaveLength(4);
    over(ticket, 'answered');
    expect(traffic.inFlight).toBe(0);
    expect(traffic.room('first')).toBe(5);
  });
});
