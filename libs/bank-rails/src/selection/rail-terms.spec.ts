/** How long a rail normally needs. */
import { easternTime, instantOf } from '../calendar/eastern-time.js';
import { achWindow, defaultCutoffs, railOpensAt, swiftWindow } from '../calendar/rail-hours.js';
import { normalTimeMs } from './rail-terms.js';

/** Eastern Time, `YYYY-MM-DD HH:MM`. */
const at = (text: string) => instantOf(text.slice(0, 10), text.slice(11));
const shown = (ms: number) => `${easternTime(ms).date} ${easternTime(ms).time.slice(0, 5)}`;
const hourMs = 3_600_000;

it.each([
  ['RTP', '2026-11-28 12:00', '2026-11-28 12:01'],
  ['FEDWIRE', '2026-11-23 12:00', '2026-11-23 16:00'],
  ['ACH', '2026-11-23 19:45', '2026-11-26 00:00'],
  // Over a weekend, Thanksgiving, and the change of the clocks.
  ['ACH', '2026-11-27 19:45', '2026-12-02 00:00'],
  ['SWIFT', '2026-11-27 12:00', '2026-12-02 00:00'],
  ['SWIFT', '2026-11-25 12:00', '2026-12-01 00:00'],
  ['SWIFT', '2027-03-12 12:00', '2027-03-17 00:00'],
] as const)('that of %s from %s ends at %s', (rail, from, end) => {
  expect(shown(at(from) + normalTimeMs(rail, at(from)))).toBe(end);
});

it('does not end before the settlement that a payment was told, at any hour of two years', () => {
  const early: string[] = [];
  for (let ms = at('2026-01-01 00:00'); ms < at('2028-01-01 00:00'); ms += hourMs) {
    const handedOver = railOpensAt('SWIFT', ms, defaultCutoffs);
    const { settlementAt } = swiftWindow(handedOver, defaultCutoffs);
    if (handedOver + normalTimeMs('SWIFT', handedOver) < settlementAt)
      early.push(`SWIFT ${shown(ms)}`);
    const file = achWindow(ms, 'standard', defaultCutoffs);
    if (file.cutoffAt + normalTimeMs('ACH', file.cutoffAt) < file.settlementAt)
      early.push(`ACH ${shown(ms)}`);
  }
  expect(early).toEqual([]);
});
