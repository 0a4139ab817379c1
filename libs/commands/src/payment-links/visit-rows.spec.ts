import { VisitRows } from './visit-rows.js';

const at = '2026-11-23T15:00:00.000Z';
const visit = { kind: 'open', outcome: null, paymentId: 'p-1', isExpired: false } as const;
const visitor = (network: string) => ({ network, userAgent: 'Browser/1.0' });

/** As from the /48 of one customer of a provider. */
const networks = Array.from({ length: 25_000 }, (_, at) => `2001:db8:1:${at.toString(16)}::/64`);

it.each([false, true])(
  'many networks with one link fill few rows an hour, and take none from other links (expired: %s)',
  (isExpired) => {
    const rows = new VisitRows();
    const idOf = (paymentId: string, network: string, when = at) =>
      rows.idOf({ ...visit, paymentId, isExpired }, visitor(network), when);
    const ids = networks.map((network) => idOf('p-1', network));
    expect(new Set(ids).size).toBe(601);
    // All that have no row of their own count in one.
    expect(new Set(ids.slice(600)).size).toBe(1);
    expect(idOf('p-1', networks[0] ?? '')).toBe(ids[0]);
    expect(idOf('p-2', networks[0] ?? '')).not.toBe(idOf('p-2', networks[1] ?? ''));
    const later = '2026-11-23T16:00:00.000Z';
    expect(idOf('p-1', 'a', later)).not.toBe(idOf('p-1', 'b', later));
  },
);

it('one network fills 61 rows an hour, whatever its user agents are', () => {
  const rows = new VisitRows();
  const ids = networks.map((userAgent) =>
    rows.idOf(visit, { network: '203.0.113.7', userAgent }, at),
  );
  expect(new Set(ids).size).toBe(61);
});
