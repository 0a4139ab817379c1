import { wayOf } from './recipient-choice.js';

it('says who sends the link to the recipient: the service sends it to nobody', () => {
  expect(wayOf('INBOUND', true)).toContain('Send the link to the recipient');
  expect(wayOf('OUTBOUND', false)).toContain('Send the link to the recipient');
  expect(wayOf('OUTBOUND', true)).not.toContain('link');
});

it('does not say that a payment starts at once which waits for an approval first', () => {
  for (const [direction, isActive] of [
    ['INBOUND', true],
    ['OUTBOUND', false],
    ['OUTBOUND', true],
  ] as const)
    expect(wayOf(direction, isActive, true)).toMatch(/once it is approved/i);
  expect(wayOf('OUTBOUND', true)).toBe('The payment starts at once, to the account on file.');
});
