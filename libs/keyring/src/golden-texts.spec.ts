/** What an earlier release has sealed or computed, under a key that only tests know. It holds for good: never change it. */
import type { DataKeyTable } from './data-key-table.js';
import type { Owner } from './owner.js';
import { memoryDataKeyTable, testKeyring } from './testing.js';

const owner: Owner = 'contact:5f0c3c3e-6c0a-4a59-9d7a-0a8d4c1d7a11';
const stored = {
  ...{ owner, version: 1, v1Digest: null },
  key: {
    wrapped: 'cnbak-1IPYd90UaWZa0sBf69VB5tHeLsPKYx7KNQHz6CQSC0aXwXymIWlc5S3NbJVtOkETcxaw4A1A1m',
    wrappingKeyId: 'z100YJRl',
  },
};
const table: DataKeyTable = {
  ...memoryDataKeyTable(),
  read: (owners) =>
    Promise.resolve({ destructions: '0', keys: owners.includes(owner) ? [stored] : [] }),
};
const keyring = testKeyring(7, table);

it('what an earlier release has sealed can be opened', async () => {
  const text = 'v2.1.gTkqVdbXLhSDd0sl.tBMVz104SGAGZDiguQObZqZ4ktd6bA';
  expect(await keyring.open(text, owner)).toBe('secret');
  const ofPlace = 'v3.1.TRcfILPUSicgno41.Gzkit8rp5qviHSpc_nDByMyzNt2KDQ';
  expect(await keyring.open(ofPlace, owner, 'payment-1 0')).toBe('secret');
  const bytes = 'AQAAAAFwmLs6xHUqENWxdjIzn3CIJZbKrAgXxS05Bi6WY9HGnm2M';
  const opened = await keyring.openBytes(Buffer.from(bytes, 'base64url'), owner, 'file-1');
  expect(opened.toString()).toBe('secret');
});

// Contacts, accounts and users are found by it.
it('a MAC is the same in every release', () => {
  expect(keyring.mac('contact-identity', 'x')).toBe(
    '8a07ab8574bde9919300d4de0f036279f73652b3a65b83df14d4a65b45231b25',
  );
  expect(keyring.mac('user-email', 'x')).toBe(
    '9b7cee6e66377067ef7fb0df38c373f2a14be960d9e0f640a0429f3c5e9721a8',
  );
});
