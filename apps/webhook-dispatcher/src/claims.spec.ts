import { Claims, type ClaimedWork, type ClaimsDeps } from './claims.js';
import { Traffic } from './traffic.js';
import { WaitingRoom } from './waiting-room.js';

const limits = {
  batchMax: 10,
  dueEndpointsMax: 10,
  leaseMs: 60_000,
  pollMaxMs: 500,
  postponeMs: 100,
};
const traffic = {
  ...{ quickMax: 20, unknownMax: 10, slowMax: 12, slowAfterMs: 500, perEndpointInitial: 4 },
  ...{ perEndpointMax: 8, slowPerEndpointMax: 3, unhealthyAfterFailures: 5, unhealthyPauseMs: 100 },
  endpointsMax: 5,
};

/** Claims from a table in which these endpoints have due deliveries, all leased by other dispatchers already. */
function claimsFrom(endpointIds: readonly string[]) {
  const rooms: ReadonlyMap<string, number>[] = [];
  const table: ClaimsDeps['table'] = {
    due: () => Promise.resolve({ endpointIds, nextDueAt: null }),
    claim: ({ room }) => {
      rooms.push(room);
      return Promise.resolve([]);
    },
    leased: () => Promise.resolve([]),
  };
  const claims = new Claims({
    table,
    traffic: new Traffic(traffic),
    waiting: new WaitingRoom<ClaimedWork>({ waitingMax: 6, waitingPerEndpointMax: 4 }),
    atWork: new Set(),
    now: () => new Date(),
    limits,
  });
  return { claims, rooms };
}

describe('A pass over due deliveries', () => {
  it('sends no claim to the database while nothing is due', async () => {
    const { claims, rooms } = claimsFrom([]);
    expect(await claims.pass()).toEqual({ works: [], waitMs: limits.pollMaxMs });
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
});
