import { ownerOf } from './owner.js';

it('names owners as everything that was ever sealed names them', () => {
  expect(ownerOf.contact('1')).toBe('contact:1');
  expect(ownerOf.originator('1')).toBe('originator:1');
  expect(ownerOf.webhookEndpoint('1')).toBe('webhookEndpoint:1');
});
