import { Claims, type ClaimedWork, type ClaimsDeps } from './claims.js';
import { Traffic } from './traffic.js';
import { WaitingRoom } from './waiting-room.js';

const pollMaxMs = 500;
const limits = {
  batchMax: 10,
  dueEndpointsMax: 10,
  leaseMs: 60_000,
  postponeMs: 100,
};
const trafficLimits = {
  ...{
    quickMax: 20,
    unknownMax: 10,
    knownMax: 18,
    slowMax: 12,
    slowAfterMs: 500,
    slowAfterBusyMs: 2_000,
    slowPerOrganizationMax: 6,
    underWayPerOrganizationMax: 9,
    perEndpointInitial: 4,
  },
  ...{ perEndpointMax: 8, slowPerEndpointMax: 3, unhealthyAfterFailures: 5, unhealthyPauseMs: 100 },
  ...{ endpointsMax: 5, openPerEndpointMax: 8 },
};

const organizationOf = (endpointId: string) => endpointId.split(' ')[0] ?? '';

/**
 * Claims from a table in which these endpoints have due deliveries, all leased by other dispatchers already.
 * The first word of an endpoint's ID is its organization.
 */
function claimsFrom(endpointIds: readonly string[]) {
  const rooms: ReadonlyMap<string, number>[] = [];
  // No attempt lasts too long, however slow the machine is.
  const traffic = new Traffic(trafficLimits, () => ({ atMs: 0, idleMs: 0 }));
  const table: ClaimsDeps['table'] = {
    due: (_now, { except, max }) => {
      const left = endpointIds.filter((endpointId) => !except.includes(endpointId));
      const ids = left.slice(0, max);
      const endpoints = ids.map((endpointId) => ({
        ...{ endpointId, organizationId: organizationOf(endpointId) },
      }));
      return Promise.resolve({ endpoints, nextDueAt: null });
    },
    claim: ({ room }) => {
      rooms.push(room);
      return Promise.resolve([]);
    },
    leased: () => Promise.resolve([]),
  };
  return { claims: claimsOn(table, traffic), rooms, traffic };
}

function claimsOn(table: ClaimsDeps['table'], traffic: Traffic): Claims {
  return new Claims({
    table,
    traffic,
    waiting: new WaitingRoom<ClaimedWork>({
      ...{ waitingMax: 6, waitingPerEndpointMax: 4, waitingPerOrganizationMax: 5 },
    }),
    atWork: new Set(),
    now: () => new Date(),
    clocks: { require: () => Promise.resolve() },
    pollMs: () => pollMaxMs,
    limits,
  });
}

describe('A pass over due deliveries', () => {
  it('sends no claim to the database while nothing is due', async () => {
    const { claims, rooms } = claimsFrom([]);
    expect(await claims.pass()).toEqual({ works: [], waitMs: pollMaxMs });
    expect(rooms).toEqual([]);
  });

  it('claims for each endpoint what it may begin, and looks again soon if others were faster', async () => {
    const { claims, rooms } = claimsFrom(['one', 'two']);
    expect(await claims.pass()).toEqual({ works: [], waitMs: limits.postponeMs });
    expect(rooms.map((room) => [...room])).toEqual([
      [
        ['one', 4],
        ['two', 4],
      ],
    ]);
  });

  it('claims for one organization no more than its share, and reads what is left when it has room again', async () => {
    const many = ['many 1', 'many 2', 'many 3'];
    const { claims, rooms, traffic } = claimsFrom([...many, 'another']);
    const begin = (endpointId: string) =>
      traffic.begin({ endpointId, organizationId: organizationOf(endpointId) });
    const [one] = Array.from({ length: 5 }, (_, n) => begin(`many busy ${n}`));
    await claims.pass();
    // One attempt to the first endpoint of the organization: the other two wait.
    expect(rooms.map((room) => [...room])).toEqual([
      [
        ['many 1', 1],
        ['another', 1],
      ],
    ]);
    begin('many 1');
    expect(many.map((endpointId) => claims.wants(endpointId))).toEqual([false, false, false]);
    await claims.pass();
    expect(rooms.slice(1).map((room) => [...room])).toEqual([[['another', 2]]]);
    if (one) traffic.end(one);
    expect(claims.wants('many busy 0')).toBe(true);
    await claims.pass();
    expect(rooms.slice(2).map((room) => [...room.keys()].length)).toEqual([2]);
  });

  it('leaves slow slots to others when it claims for several organizations with backlogs', async () => {
    const { claims, rooms, traffic } = claimsFrom(['one 1', 'two 1']);
    for (const organizationId of ['one', 'two'])
      for (let n = 0; n < 3; n += 1)
        traffic.begin({ endpointId: `${organizationId} busy`, organizationId });
    await claims.pass();
    // Of 12 there are three left, and neither organization has more than five.
    expect(rooms.map((room) => [...room])).toEqual([
      [
        ['one 1', 2],
        ['two 1', 1],
      ],
    ]);
  });

  it('claims nothing for a quick endpoint while attempts of its organization hang beyond its share', async () => {
    const { claims, rooms, traffic } = claimsFrom(['many quick', 'another']);
    const begin = (endpointId: string) =>
      traffic.begin({ endpointId, organizationId: organizationOf(endpointId) });
    const answered = begin('many quick');
    traffic.attempted(answered, 'answered', true);
    traffic.end(answered);
    const [one] = Array.from({ length: 9 }, (_, n) => begin(`many hanging ${n % 3}`));
    await claims.pass();
    expect(rooms.map((room) => [...room.keys()])).toEqual([['another']]);
    expect(claims.wants('many quick')).toBe(false);
    if (one) traffic.end(one);
    expect(claims.wants('many hanging 0')).toBe(true);
    await claims.pass();
    expect(rooms.slice(1).map((room) => [...room.keys()])).toEqual([['many quick', 'another']]);
  });

  it('looks for others at once when it found only endpoints of an organization beyond its share', async () => {
    const many = Array.from({ length: limits.dueEndpointsMax }, (_, n) => `many ${n}`);
    const { claims, rooms, traffic } = claimsFrom([...many, 'another']);
    for (let n = 0; n < 9; n += 1)
      traffic.begin({ endpointId: `many hanging ${n % 3}`, organizationId: 'many' });
    expect(await claims.pass()).toEqual({ works: [], waitMs: 0 });
    await claims.pass();
    expect(rooms.map((room) => [...room.keys()])).toEqual([['another']]);
  });

  it('looks again soon for an endpoint that was closed and opened before the database answered', async () => {
    let atMs = 0;
    const traffic = new Traffic(trafficLimits, () => ({ atMs, idleMs: atMs }));
    traffic.close('one', 20);
    const table: ClaimsDeps['table'] = {
      due(_now, { except }) {
        expect(except).toEqual(['one']);
        atMs = 30;
        return Promise.resolve({ endpoints: [], nextDueAt: null });
      },
      claim: () => Promise.resolve([]),
      leased: () => Promise.resolve([]),
    };
    const claims = claimsOn(table, traffic);
    expect(await claims.pass()).toEqual({ works: [], waitMs: 20 });
  });
});
