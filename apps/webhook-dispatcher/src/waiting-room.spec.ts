import { WaitingRoom } from './waiting-room.js';

const room = () => new WaitingRoom<number>({ waitingMax: 6, waitingPerEndpointMax: 4 });

describe('Deliveries that wait for a slot', () => {
  it('leave in the order in which they came, and endpoints take turns', () => {
    const waiting = room();
    for (const n of [1, 2]) waiting.enter('a', n);
    waiting.enter('b', 3);
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
    expect([1, 2, 3, 4, 5].map(() => waiting.tryReserve('a'))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect([1, 2, 3].map(() => waiting.tryReserve('b'))).toEqual([true, true, false]);
    waiting.giveUp('a');
    expect(waiting.tryReserve('a')).toBe(true);
    waiting.giveUp('a');
    expect(waiting.tryReserve('b')).toBe(true);
    for (let n = 0; n < 3; n++) waiting.giveUp('a');
    for (let n = 0; n < 3; n++) waiting.giveUp('b');
    expect(waiting.free).toBe(6);
  });

  it('are refilled many at a time, when half of them have left', () => {
    const waiting = room();
    expect(waiting.refill('a')).toBe(4);
    for (const n of [1, 2, 3]) waiting.enter('a', n);
    expect(waiting.refill('a')).toBe(0);
    waiting.next('a');
    expect(waiting.refill('a')).toBe(2);
    for (let n = 0; n < 3; n++) waiting.enter('b', n);
    expect(waiting.refill('a')).toBe(1);
  });
});
