import { jest } from '@jest/globals';
import { dispatcherLimits, slotsOf } from './limits.js';
import { Traffic } from './traffic.js';

const owned = (endpointId: string) => ({ endpointId, organizationId: `owner of ${endpointId}` });

/** As many attempts as an endpoint gets that answers each one, and its attempts then. */
function grown(traffic: Traffic, endpointId: string): number {
  for (let answers = 0; answers < 100; answers += 1) {
    const ticket = traffic.tryBegin(owned(endpointId));
    if (ticket === null) break;
    traffic.attempted(ticket, 'answered', true);
    traffic.end(ticket);
  }
  let count = 0;
  while (traffic.tryBegin(owned(endpointId)) !== null) count += 1;
  return count;
}

it.each([10, 20, 100, 640, 10_000])(
  'with %i attempts under way in all, one endpoint takes a quarter of the quick slots and an eighth of the slow ones at most, and one organization half of the slow ones',
  (concurrency) => {
    const { quickMax, slowMax, ...slots } = slotsOf(concurrency);
    expect(slots.perEndpointInitial).toBeGreaterThanOrEqual(1);
    expect(slots.perEndpointInitial).toBeLessThanOrEqual(slots.perEndpointMax);
    expect(slots.perEndpointMax).toBeLessThanOrEqual(Math.max(1, quickMax / 4));
    expect(slots.slowPerEndpointMax).toBeLessThanOrEqual(Math.max(1, slowMax / 8));
    expect(slots.slowPerOrganizationMax).toBeLessThanOrEqual(slowMax / 2);
    expect(slots.slowPerOrganizationMax).toBeGreaterThanOrEqual(1);
  },
);

it('has 4, 32 and 8 attempts for an endpoint unless told otherwise', () => {
  expect(slotsOf()).toMatchObject({
    ...{ perEndpointInitial: 4, perEndpointMax: 32, slowPerEndpointMax: 8 },
  });
});

it('an endpoint that answers quickly leaves slots to another one, with the fewest that may be configured', () => {
  const traffic = new Traffic({ ...dispatcherLimits.engine, ...slotsOf(10) });
  expect(grown(traffic, 'eager')).toBe(1);
  expect(traffic.tryBegin(owned('another'))).not.toBeNull();
});

describe('An organization with many endpoints that have answered quickly', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const ids = Array.from({ length: 60 }, (_, n) => `endpoint ${n}`);
  /** All of them are quick, and a process that has nothing else to do. */
  const trafficOf = (concurrency: number) => {
    const idle = () => ({ atMs: performance.now(), idleMs: performance.now() });
    const traffic = new Traffic({ ...dispatcherLimits.engine, ...slotsOf(concurrency) }, idle);
    for (const endpointId of ids)
      for (let answers = 0; answers < 32; answers += 1) {
        const ticket = traffic.begin({ endpointId, organizationId: 'many' });
        traffic.attempted(ticket, 'answered', true);
        traffic.end(ticket);
      }
    return traffic;
  };
  const takeAll = (traffic: Traffic) => {
    for (const endpointId of ids)
      while (traffic.tryBegin({ endpointId, organizationId: 'many' }) !== null);
  };

  it.each([10, 20, 100, 640, 10_000])(
    'leaves slow slots to others of %i when all begin to hang',
    (concurrency) => {
      const traffic = trafficOf(concurrency);
      for (let round = 0; round < 20; round += 1) {
        takeAll(traffic);
        jest.advanceTimersByTime(500);
      }
      expect(traffic.inFlight).toBeLessThanOrEqual(concurrency);
      expect(traffic.freeFor('slow')).toBeGreaterThanOrEqual(slotsOf(concurrency).slowMax / 4);
      expect(traffic.tryBegin(owned('new'))).not.toBeNull();
    },
  );

  it.each([10, 20, 100, 640])(
    'leaves a quick slot of %i to a new endpoint while it has a backlog',
    (concurrency) => {
      const traffic = trafficOf(concurrency);
      takeAll(traffic);
      expect(traffic.tryBegin({ endpointId: 'endpoint 0', organizationId: 'many' })).toBeNull();
      expect(traffic.tryBegin(owned('new'))).not.toBeNull();
    },
  );
});
