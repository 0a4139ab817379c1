import { wayOf } from './recipient-choice.js';

it('says who sends the link to the recipient: the service sends it to nobody', () => {
  expect(wayOf('INBOUND', true)).toContain('Send the link to the recipient');
  expect(wayOf('OUTBOUND', false)).toContain('Send the link to the recipient');
  expect(wayOf('OUTBOUND', true)).not.toContain('link');
});
