import { ReadWatch } from './read-watch.js';

describe('a partition that is not read although its group looks alive', () => {
  let nowMs = 0;
  let watch = new ReadWatch(1_000, () => nowMs);
  beforeEach(() => {
    nowMs = 0;
    watch = new ReadWatch(1_000, () => nowMs);
  });
  const at = (
    ms: number,
    given: { position?: bigint; end?: bigint | null; isPaused?: boolean } = {},
  ) => {
    nowMs = ms;
    const { position = 5n, end = 9n, isPaused = false } = given;
    return watch.check([{ name: 'orders/0', position, end, isPaused }]);
  };

  it('is noticed when it has messages and has not moved for the limit, and until it moves', () => {
    expect(at(0)).toEqual([]);
    expect(at(999)).toEqual([]);
    expect(at(1_000)).toEqual(['orders/0']);
    expect(at(1_500)).toEqual([]);
    expect(watch.unread).toEqual(['orders/0']);
    expect(at(2_000)).toEqual(['orders/0']);
    // The next member begins at the last commit.
    expect(at(2_100, { position: 3n })).toEqual([]);
    expect(watch.unread).toEqual(['orders/0']);
    expect(at(2_200, { position: 6n })).toEqual([]);
    expect(watch.unread).toEqual([]);
  });

  it('is named, without ending the member, when its broker does not say where it ends', () => {
    at(0, { end: null });
    expect(at(1_000, { end: null })).toEqual([]);
    expect(watch.unread).toEqual(['orders/0']);
    at(1_100, { end: 5n });
    expect(watch.unread).toEqual([]);
  });

  it('is not one that is read to its end, that is paused, or that was taken away meanwhile', () => {
    at(0, { end: 5n });
    at(5_000, { end: 5n });
    at(5_000);
    at(5_500, { isPaused: true });
    expect(at(6_500)).toEqual([]);
    watch.check([]);
    expect(at(8_000)).toEqual([]);
    expect(watch.unread).toEqual([]);
    expect(at(9_000)).toEqual(['orders/0']);
  });
});
