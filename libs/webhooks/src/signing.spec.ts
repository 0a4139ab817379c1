import { createHmac } from 'node:crypto';
import { createSecret, deliveryHeaders, sign, verify } from './signing.js';

const secret = '5f'.repeat(32);
const body = '{"id":"3f0c","data":{"note":"Zażółć 💸"}}';
const timestamp = '2026-11-21T10:00:00.000Z';
const now = new Date('2026-11-21T10:01:00.000Z');
const delivery = { deliveryId: 'd1', eventType: 'payment.queued', body };

function received(overrides: Record<string, string | undefined> = {}) {
  const sent = Object.entries(deliveryHeaders(delivery, secret, timestamp));
  return { ...Object.fromEntries(sent.map(([k, v]) => [k.toLowerCase(), v])), ...overrides };
}

describe('A receiver checks where a delivery comes from', () => {
  it('computes the signature with nothing but the secret it was shown', () => {
    const own = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    expect(sign(secret, timestamp, body)).toBe(`sha256=${own}`);
  });

  it('matches a value computed by other software', () => {
    // printf '2026-11-21T10:00:00.000Z.{}' | openssl dgst -sha256 -hmac key
    expect(sign('key', timestamp, '{}')).toBe(
      'sha256=d31fc202db534bc175615651f994662a9cd59eecba4e311eb55a090ca10027c7',
    );
  });

  it('finds the type, the delivery and the time of signing in the headers', () => {
    expect(received()).toMatchObject({
      'content-type': 'application/json',
      'x-webhook-event': 'payment.queued',
      'x-webhook-delivery': 'd1',
      'x-webhook-timestamp': timestamp,
    });
  });

  it('accepts what was signed, as text and as bytes', () => {
    expect(verify(body, received(), secret, now)).toBe(true);
    expect(verify(Buffer.from(body), received(), secret, now)).toBe(true);
  });

  it.each([
    ['a changed body', `${body} `, received(), secret],
    ['another secret', body, received(), createSecret()],
    ['a changed timestamp', body, received({ 'x-webhook-timestamp': now.toISOString() }), secret],
    ['no signature', body, received({ 'x-webhook-signature-256': undefined }), secret],
    ['a short signature', body, received({ 'x-webhook-signature-256': 'sha256=00' }), secret],
    ['a timestamp that is none', body, received({ 'x-webhook-timestamp': 'soon' }), secret],
    ['no timestamp', body, received({ 'x-webhook-timestamp': undefined }), secret],
  ])('rejects %s', (_, raw, headers, key) => {
    expect(verify(raw, headers, key, now)).toBe(false);
  });

  it('accepts a clock that differs by 5 minutes, and rejects any more, either way', () => {
    const at = (offsetMs: number) => new Date(Date.parse(timestamp) + offsetMs);
    expect(verify(body, received(), secret, at(300_000))).toBe(true);
    expect(verify(body, received(), secret, at(-300_000))).toBe(true);
    expect(verify(body, received(), secret, at(300_001))).toBe(false);
    expect(verify(body, received(), secret, at(-300_001))).toBe(false);
  });
});

it('A new secret has 64 hexadecimal characters and is never the same', () => {
  expect(createSecret()).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(Array.from({ length: 100 }, createSecret)).size).toBe(100);
});
