import { ownerOf } from './owner.js';

it('keeps the owner names that existing sealed texts are bound to', () => {
  expect(ownerOf.contact('1')).toBe('contact:1');
  expect(ownerOf.originator('1')).toBe('originator:1');
  expect(ownerOf.user('1')).toBe('user:1');
  expect(ownerOf.webhookEndpoint('1')).toBe('webhookEndpoint:1');
  expect(ownerOf.railArchive('bank/2026-11')).toBe('railArchive:bank/2026-11');
  expect(ownerOf.exportFile('f1')).toBe('export:f1');
  expect(ownerOf.railFile('f1')).toBe('railArchive:file/f1');
});
