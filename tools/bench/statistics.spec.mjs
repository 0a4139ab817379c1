import { quantile, quantilesOf } from './statistics.mjs';

describe('a quantile', () => {
  it('is the least value that so many of the values do not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, n) => n + 1);
    expect(quantile(hundred, 0.99)).toBe(99);
    expect(quantile(hundred, 0.5)).toBe(50);
    expect(quantilesOf([30, 10, 20])).toEqual({ p50Ms: 20, p99Ms: 30 });
    expect(quantile([7], 0.5)).toBe(7);
    expect(quantile([], 0.5)).toBeNull();
  });
});
