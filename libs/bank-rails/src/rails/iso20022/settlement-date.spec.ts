import { defaultCutoffs } from '../../calendar/rail-hours.js';
import { settlementDateOf } from './settlement-date.js';

it.each([
  // A Friday at 6:59 pm and at 7 pm Eastern Time.
  ['FEDNOW', '2026-11-20T23:59:59.000Z', '2026-11-20'],
  ['FEDNOW', '2026-11-21T00:00:00.000Z', '2026-11-21'],
  ['RTP', '2026-11-21T00:00:00.000Z', '2026-11-20'],
  // Thanksgiving: Fedwire and banks are closed, the instant rails are not.
  ['RTP', '2026-11-26T15:00:00.000Z', '2026-11-26'],
  ['FEDNOW', '2026-11-26T15:00:00.000Z', '2026-11-26'],
  ['FEDWIRE', '2026-11-26T15:00:00.000Z', '2026-11-27'],
  ['SWIFT', '2026-11-26T15:00:00.000Z', '2026-11-27'],
  // A Saturday.
  ['SWIFT', '2026-11-28T15:00:00.000Z', '2026-11-30'],
  ['FEDWIRE', '2026-11-24T15:00:00.000Z', '2026-11-24'],
] as const)('settles %s sent at %s on %s', (rail, at, date) => {
  expect(settlementDateOf(rail, new Date(at), defaultCutoffs)).toBe(date);
});
