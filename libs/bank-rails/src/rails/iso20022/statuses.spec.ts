import { isoRails } from './messages.js';
import { profileOf } from './profiles.js';
import { meaningOfStatus } from './statuses.js';

it.each([
  ['ACSC', 'accepted'],
  ['ACCC', 'accepted'],
  ['ACWP', 'accepted'],
  ['ACCP', 'received'],
  ['ACSP', 'received'],
  ['ACWC', 'received'],
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

it.each(isoRails)('takes ACCP and ACSP for no acceptance on %s: a rejection may follow', (rail) => {
  for (const status of ['ACCP', 'ACSP'])
    expect(meaningOfStatus(status, profileOf(rail))).toBe('received');
});

it.each(isoRails)('takes the status with which %s accepts for an acceptance', (rail) => {
  const profile = profileOf(rail);
  expect(meaningOfStatus(profile.acceptedStatus, profile)).toBe('accepted');
});

it('takes ACTC for the acceptance of RTP', () => {
  expect(meaningOfStatus('ACTC', profileOf('RTP'))).toBe('accepted');
});
