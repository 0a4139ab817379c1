import { hashOfEvent } from '@pis/event-store';
import { hashOfLeaf, leafOf } from '../leaf.js';
import { readEvent, storedEventOf } from './stored-event.js';

const recorded = {
  streamId: 'payment-"1" é',
  revision: 3,
  position: '7',
  id: '0d6a1c1e-54a1-4c52-9d2c-93f6f1d3a111',
  type: 'PaymentQueued',
  data: { holder: 'Ada', list: [{ b: 1, a: 'line\nfeed' }] },
  storedData: { holder: 'sealed', list: [{ b: 1, a: 'line\nfeed' }] },
  metadata: {
    at: '2026-01-02T03:04:05.006Z',
    schemaVersion: 1,
    actor: 'apiKey:1',
    requestId: null,
    correlationId: 'c',
    causationId: null,
    traceparent: null,
    previousHash: 'ab',
  },
};

it('computes the hashes that the store and the tree compute, of the sealed data', () => {
  const reading = readEvent(storedEventOf(recorded));
  expect(reading.eventHash).toBe(hashOfEvent(recorded));
  expect(reading.leafHash).toEqual(hashOfLeaf(leafOf(recorded)));
  expect(reading.data).toEqual(recorded.storedData);
  expect(reading.metadata).toEqual({
    at: recorded.metadata.at,
    actor: 'apiKey:1',
    schemaVersion: 1,
    previousHash: 'ab',
  });
});

it('a checkpoint is no leaf', () => {
  const checkpoint = { ...recorded, streamId: 'audit-checkpoints' };
  expect(readEvent(storedEventOf(checkpoint)).leafHash).toBeNull();
});

it.each(['[]', 'null', '"text"', '{'])('data that is %s cannot be read', (data) => {
  expect(() => readEvent({ ...storedEventOf(recorded), data })).toThrow();
});
