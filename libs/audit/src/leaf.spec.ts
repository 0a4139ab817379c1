import { hashOfLeaf, hashOfNode, leafOf } from './leaf.js';

const recorded = {
  streamId: 'payment-1',
  revision: 0,
  position: '7',
  id: '0d6a1c1e-54a1-4c52-9d2c-93f6f1d3a111',
  type: 'PaymentQueued',
  data: { holder: 'Ada' },
  storedData: { holder: 'sealed' },
  metadata: {
    at: '2026-01-02T03:04:05.006Z',
    schemaVersion: 1,
    actor: 'apiKey:1',
    requestId: null,
    correlationId: 'c',
    causationId: null,
    traceparent: null,
    previousHash: null,
  },
};

it('a leaf names the event and holds no personal data', () => {
  const leaf = leafOf(recorded);
  expect(JSON.parse(leaf)).toEqual({
    eventHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    id: recorded.id,
    recordedAt: recorded.metadata.at,
    revision: 0,
    streamId: 'payment-1',
    type: 'PaymentQueued',
  });
  expect(leaf).not.toContain('Ada');
});

it('a leaf does not change with the position or with the opened data', () => {
  const { storedData, ...rest } = recorded;
  expect(leafOf({ ...rest, position: '9', data: storedData })).toBe(leafOf(recorded));
});

// The vectors of RFC 6962's reference implementation (certificate-transparency, merkle_tree_test).
it('hashes leaves and nodes as RFC 6962 says', () => {
  const empty = hashOfLeaf('');
  expect(empty.toString('hex')).toBe(
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  );
  expect(hashOfNode(empty, hashOfLeaf('\0')).toString('hex')).toBe(
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  );
});
