import { createHash } from 'node:crypto';
import { canonicalJson, hashOfEvent } from './event-hash.js';
import type { RecordedEvent } from './port.js';

const event: RecordedEvent = {
  streamId: 'payment-1',
  revision: 1,
  position: '00000000000000000007',
  id: '0b9d6b0e-6f0e-4c57-9f8e-3a0f6c1d2e3f',
  type: 'PaymentProcessing',
  data: { railReference: 'r-1', list: [1, { b: 2, a: 1 }], note: null },
  metadata: {
    at: '2026-03-01T12:00:00.000Z',
    schemaVersion: 1,
    actor: 'system:rail-executor',
    requestId: null,
    correlationId: 'c',
    causationId: null,
    traceparent: null,
    previousHash: null,
  },
};

describe('the hash of an event', () => {
  it('is SHA-256 over JSON with sorted keys, so that anyone can compute it again', () => {
    const text =
      '{"data":{"list":[1,{"a":1,"b":2}],"note":null,"railReference":"r-1"},' +
      '"id":"0b9d6b0e-6f0e-4c57-9f8e-3a0f6c1d2e3f",' +
      '"metadata":{"actor":"system:rail-executor","at":"2026-03-01T12:00:00.000Z",' +
      '"causationId":null,"correlationId":"c","previousHash":null,"requestId":null,' +
      '"schemaVersion":1,"traceparent":null},' +
      '"revision":1,"streamId":"payment-1","type":"PaymentProcessing"}';
    expect(hashOfEvent(event)).toBe(createHash('sha256').update(text).digest('hex'));
  });

  it('does not depend on the order of keys, nor on values that JSON leaves out', () => {
    const { railReference, list, note } = event.data;
    const data = { note, absent: undefined, list, railReference };
    expect(hashOfEvent({ ...event, data })).toBe(hashOfEvent(event));
    expect(hashOfEvent(JSON.parse(JSON.stringify({ ...event, data })))).toBe(hashOfEvent(event));
  });

  it('changes with every recorded value, and not with the position in the log', () => {
    const hash = hashOfEvent(event);
    expect(hashOfEvent({ ...event, position: '00000000000000000008' } as RecordedEvent)).toBe(hash);
    const { metadata } = event;
    for (const changed of [
      { streamId: 'payment-2' },
      { revision: 2 },
      { id: '1b9d6b0e-6f0e-4c57-9f8e-3a0f6c1d2e3f' },
      { type: 'PaymentCompleted' },
      { data: { ...event.data, railReference: 'r-2' } },
      { metadata: { ...metadata, actor: 'system:other' } },
      { metadata: { ...metadata, previousHash: 'ab' } },
    ])
      expect(hashOfEvent({ ...event, ...changed })).not.toBe(hash);
  });

  it('agrees with JSON on every value JSON can carry', () => {
    for (const value of [null, 0, -0, 1e21, 'é\u0000\ud800', [], {}, [null, true], { a: '"' }]) {
      expect(canonicalJson(value)).toBe(JSON.stringify(value));
      expect(canonicalJson(JSON.parse(JSON.stringify(value)))).toBe(canonicalJson(value));
    }
    expect(canonicalJson([undefined])).toBe('[null]');
    expect(canonicalJson(undefined)).toBe('null');
    expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  it.each([
    [
      '{"b":{"10":1,"9":[{"d":1,"c":2}],"a":3},"a":1}',
      '{"a":1,"b":{"10":1,"9":[{"c":2,"d":1}],"a":3}}',
    ],
    ['{"a":1,"1a":2,"0":3}', '{"0":3,"1a":2,"a":1}'],
    ['{"a":1,"__proto__":{"b":2,"a":1},"Z":3}', '{"Z":3,"__proto__":{"a":1,"b":2},"a":1}'],
  ])('sorts %s, whose keys an object would keep in another order', (text, canonical) => {
    expect(canonicalJson(JSON.parse(text))).toBe(canonical);
  });
});
