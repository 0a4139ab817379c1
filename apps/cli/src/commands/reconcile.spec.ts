import { normalTimeMs } from '@pis/bank-rails';
import { reconcileCommand } from './reconcile.js';

const dayMs = 24 * 3_600_000;

it('takes no booking within the normal time of ACH for another day, whatever holiday is between', () => {
  const option = reconcileCommand().options.find(({ long }) => long === '--days');
  const noon = (n: number) => Date.UTC(2026, 0, 1, 17) + n * dayMs;
  const days = Array.from({ length: 4 * 365 }, (_, n) => normalTimeMs('ACH', noon(n)) / dayMs);
  // From noon of a day to the midnight that ends the last one.
  expect(option?.defaultValue).toBe(Math.floor(Math.max(...days)));
});
