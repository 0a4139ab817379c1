import { WaitingRoom } from './waiting-room.js';

const limits = { waitingMax: 6, waitingPerEndpointMax: 4, waitingPerOrganizationMax: 5 };
const room = () => new WaitingRoom<number>(limits);
const owned = (endpointId: string, organizationId = endpointId) => ({ endpointId, organizationId });

describe('Deliveries that wait for a slot', () => {
  it('leave in the order in which they came, and endpoints take turns', () => {
    const waiting = room();
    for (const n of [1, 2]) waiting.enter(owned('a'), n);
    waiting.enter(owned('b'), 3);
    expect(waiting.endpoints()).toEqual(['a', 'b']);
    expect(waiting.next('a')).toBe(1);
    expect(waiting.endpoints()).toEqual(['b', 'a']);
    expect(waiting.next('b')).toBe(3);
    expect(waiting.first('b')).toBeUndefined();
    expect(waiting.next('b')).toBeUndefined();
    expect(waiting.free).toBe(5);
  });

  it('are bounded per endpoint and in all, including reserved places', () => {
    const waiting = room();
    expect([1, 2, 3, 4, 5].map(() => waiting.tryReserve(owned('a')))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect([1, 2, 3].map(() => waiting.tryReserve(owned('b')))).toEqual([true, true, false]);
    waiting.giveUp(owned('a'));
    expect(waiting.tryReserve(owned('a'))).toBe(true);
    waiting.giveUp(owned('a'));
    expect(waiting.tryReserve(owned('b'))).toBe(true);
    for (let n = 0; n < 3; n++) waiting.giveUp(owned('a'));
    for (let n = 0; n < 3; n++) waiting.giveUp(owned('b'));
    expect(waiting.free).toBe(6);
  });

  it('are refilled many at a time, when half of them have left', () => {
    const waiting = room();
    expect(waiting.refill('a')).toBe(4);
    for (const n of [1, 2, 3]) waiting.enter(owned('a'), n);
    expect(waiting.refill('a')).toBe(0);
    waiting.next('a');
    expect(waiting.refill('a')).toBe(2);
    for (let n = 0; n < 3; n++) waiting.enter(owned('b'), n);
    expect(waiting.refill('a')).toBe(1);
  });

  it('leave places to other organizations, however many endpoints one has', () => {
    const waiting = room();
    const reserve = (endpointId: string, organizationId: string) =>
      waiting.tryReserve(owned(endpointId, organizationId));
    expect([1, 2, 3, 4, 5, 6].map((n) => reserve(`endpoint ${n}`, 'one'))).toEqual([
      ...Array.from({ length: 5 }, () => true),
      false,
    ]);
    expect(waiting.refillOf('one')).toBe(0);
    expect(waiting.refillOf('another')).toBe(5);
    expect(waiting.refill('of another')).toBe(1);
    expect(reserve('of another', 'another')).toBe(true);
    for (const n of [1, 2, 3]) waiting.giveUp(owned(`endpoint ${n}`, 'one'));
    expect(waiting.refillOf('one')).toBe(3);
    for (const n of [1, 2, 3]) waiting.enter(owned('endpoint 6', 'one'), n);
    expect(waiting.refillOf('one')).toBe(0);
    for (let n = 0; n < 3; n += 1) waiting.next('endpoint 6');
    expect(waiting.refillOf('one')).toBe(3);
  });
});
