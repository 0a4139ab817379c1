import { BoundedMap } from './bounded-map.js';

describe('a bounded map', () => {
  const values = (map: BoundedMap<string, { at: number }>) =>
    ['a', 'b', 'c', 'd'].filter((key) => map.get(key) !== undefined);

  it('drops the least recently used entry', () => {
    const map = new BoundedMap<string, { at: number }>(2);
    map.set('a', { at: 1 });
    map.set('b', { at: 2 });
    expect(map.get('a')).toEqual({ at: 1 });
    map.set('c', { at: 3 });
    expect(values(map)).toEqual(['a', 'c']);
  });

  it('counts a key once, however often it is set, and not at all after it is deleted', () => {
    const map = new BoundedMap<string, { at: number }>(2);
    map.set('a', { at: 1 });
    map.set('b', { at: 2 });
    map.set('a', { at: 3 });
    expect(values(map)).toEqual(['a', 'b']);
    map.delete('a');
    map.set('c', { at: 4 });
    expect(values(map)).toEqual(['b', 'c']);
    expect(map.get('a')).toBeUndefined();
  });
});
