import { profileOf } from './profiles.js';
import { meaningOfStatus } from './statuses.js';

it.each([
  ['ACSC', 'accepted'],
  ['ACCP', 'accepted'],
  ['ACSP', 'accepted'],
  ['ACWP', 'accepted'],
  ['RCVD', 'received'],
  ['ACTC', 'received'],
  ['PDNG', 'held'],
  ['RJCT', 'rejected'],
  ['CANC', 'rejected'],
  ['XXXX', 'unknown'],
  ['constructor', 'unknown'],
])('takes %s for %s', (status, meaning) => {
  expect(meaningOfStatus(status, profileOf('FEDNOW'))).toBe(meaning);
});

it('takes ACTC for the acceptance of RTP', () => {
  expect(meaningOfStatus('ACTC', profileOf('RTP'))).toBe('accepted');
});
