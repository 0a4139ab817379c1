import { createHmac } from 'node:crypto';
import { PisWebhookError, verifyWebhook, type WebhookHeaders } from './index.js';

const secret = '5f'.repeat(32);
const timestamp = '2026-11-21T10:00:00.000Z';
const now = new Date('2026-11-21T10:01:00.000Z');
const event = {
  id: 'e1',
  version: '1',
  eventType: 'payment.completed',
  createdAt: '2026-11-21T09:59:59.000Z',
  synthetic: false,
  data: { paymentId: 'p1', paymentNote: 'Zażółć 💸', previousStatus: 'PROCESSING' },
};
const body = JSON.stringify(event);

function signature(text: string | Uint8Array, at = timestamp, key = secret): string {
  const hmac = createHmac('sha256', key).update(`${at}.`).update(text);
  return `sha256=${hmac.digest('hex')}`;
}

/** As Node's HTTP server has them. */
function signed(text: string | Uint8Array, at = timestamp, key = secret) {
  return {
    'x-webhook-signature-256': signature(text, at, key),
    'x-webhook-timestamp': at,
    'x-webhook-event': 'payment.completed',
    'x-webhook-delivery': 'd1',
  };
}

const reasonOf = (raw: string | Uint8Array, headers: WebhookHeaders, options = { now }): string => {
  try {
    verifyWebhook(raw, headers, secret, options);
    return 'none';
  } catch (error) {
    if (error instanceof PisWebhookError) return error.reason;
    throw error;
  }
};

describe('A delivery that the service signed', () => {
  it('gives its event, from text and from bytes', () => {
    expect(verifyWebhook(body, signed(body), secret, { now })).toEqual(event);
    expect(verifyWebhook(Buffer.from(body), signed(body), secret, { now })).toEqual(event);
    expect(verifyWebhook(new TextEncoder().encode(body), signed(body), secret, { now })).toEqual(
      event,
    );
  });

  it('is verified by the clock of the machine unless another one is given', () => {
    const at = new Date().toISOString();
    expect(verifyWebhook(body, signed(body, at), secret)).toEqual(event);
    expect(() => verifyWebhook(body, signed(body), secret)).toThrow(PisWebhookError);
  });

  it('has its headers in any of the usual forms', () => {
    const { 'x-webhook-signature-256': value } = signed(body);
    const forms: WebhookHeaders[] = [
      new Headers(signed(body)),
      { 'X-Webhook-Signature-256': value, 'X-Webhook-Timestamp': timestamp },
      { 'x-webhook-signature-256': [value], 'x-webhook-timestamp': [timestamp] },
    ];
    for (const headers of forms) expect(reasonOf(body, headers)).toBe('none');
  });

  it('matches a signature computed by other software', () => {
    // printf '2026-11-21T10:00:00.000Z.{}' | openssl dgst -sha256 -hmac key
    const value = 'sha256=d31fc202db534bc175615651f994662a9cd59eecba4e311eb55a090ca10027c7';
    const headers = { 'x-webhook-signature-256': value, 'x-webhook-timestamp': timestamp };
    // Signed correctly, but not an event.
    expect(() => verifyWebhook('{}', headers, 'key', { now })).toThrow('not an event');
  });

  it('may be of a type, and have fields, that this client does not know', () => {
    const later = JSON.stringify({ ...event, eventType: 'payment.reversed', more: 1 });
    expect(verifyWebhook(later, signed(later), secret, { now })).toMatchObject({ more: 1 });
  });

  it('may be five minutes from the receiver’s clock, either way, and no more', () => {
    const at = (offsetMs: number) => ({ now: new Date(Date.parse(timestamp) + offsetMs) });
    expect(reasonOf(body, signed(body), at(300_000))).toBe('none');
    expect(reasonOf(body, signed(body), at(-300_000))).toBe('none');
    expect(reasonOf(body, signed(body), at(300_001))).toBe('timestamp');
    expect(reasonOf(body, signed(body), at(-300_001))).toBe('timestamp');
    const strict = { ...at(1_001), toleranceMs: 1_000 };
    expect(() => verifyWebhook(body, signed(body), secret, strict)).toThrow(PisWebhookError);
  });
});

describe('While the secret is being rotated', () => {
  const newSecret = 'a5'.repeat(32);
  const both = (previous: string) => ({
    ...signed(body, timestamp, newSecret),
    'x-webhook-signature-256-previous': previous,
  });
  const overlapping = both(signature(body));

  it('a receiver verifies with the old secret or with the new one, whichever it holds', () => {
    for (const held of [secret, newSecret])
      expect(verifyWebhook(body, overlapping, held, { now })).toEqual(event);
    expect(verifyWebhook(body, new Headers(overlapping), secret, { now })).toEqual(event);
  });

  it('nothing else verifies', () => {
    const third = 'c3'.repeat(32);
    expect(() => verifyWebhook(body, overlapping, third, { now })).toThrow(PisWebhookError);
    expect(reasonOf(`${body} `, overlapping)).toBe('signature');
    const later = { now: new Date(now.getTime() + 600_000) };
    expect(reasonOf(body, overlapping, later)).toBe('timestamp');
    for (const wrong of ['', 'sha256=', signature(body).slice(7), signature(body, '2026')])
      expect(reasonOf(body, both(wrong))).toBe('signature');
    const twice = [signature(body), signature(body)];
    expect(reasonOf(body, { ...overlapping, 'x-webhook-signature-256-previous': twice })).toBe(
      'signature',
    );
  });

  it('one signature that verifies is enough, in either header', () => {
    const { 'x-webhook-signature-256': _, ...alone } = overlapping;
    expect(reasonOf(body, alone)).toBe('none');
    expect(reasonOf(body, { ...signed(body), 'x-webhook-signature-256-previous': '' })).toBe(
      'none',
    );
  });
});

describe('A delivery is refused', () => {
  const without = (name: keyof ReturnType<typeof signed>) => ({
    ...signed(body),
    [name]: undefined,
  });
  const value = signature(body);

  it.each<[string, string, WebhookHeaders]>([
    ['with a changed body', `${body} `, signed(body)],
    ['signed with another secret', body, signed(body, timestamp, 'a5'.repeat(32))],
    ['with a later timestamp', body, { ...signed(body), 'x-webhook-timestamp': now.toISOString() }],
    ['without a signature', body, without('x-webhook-signature-256')],
    ['without a timestamp', body, without('x-webhook-timestamp')],
    ['without any header', body, {}],
    ['with an empty signature', body, { ...signed(body), 'x-webhook-signature-256': '' }],
    [
      'with half a signature',
      body,
      { ...signed(body), 'x-webhook-signature-256': value.slice(0, 39) },
    ],
    ['with the bare digest', body, { ...signed(body), 'x-webhook-signature-256': value.slice(7) }],
    [
      'with its signature twice',
      body,
      { ...signed(body), 'x-webhook-signature-256': [value, value] },
    ],
    [
      'with another algorithm',
      body,
      { ...signed(body), 'x-webhook-signature-256': value.replace('256', '1') },
    ],
  ])('%s', (_, raw, headers) => expect(reasonOf(raw, headers)).toBe('signature'));

  it.each(['soon', '', '2026', '2026-11-21', 'Sat, 21 Nov 2026 10:00:00 GMT', '1763719200000'])(
    'when it was signed at %p, which is not a time',
    (at) => expect(reasonOf(body, signed(body, at))).toBe('timestamp'),
  );

  it('with an invalid clock', () => {
    expect(reasonOf(body, signed(body), { now: new Date(NaN) })).toBe('timestamp');
  });

  it.each<[string, string | Uint8Array]>([
    ['no JSON', 'hello'],
    ['nothing', ''],
    ['null', 'null'],
    ['an array', '[]'],
    ['without an id', JSON.stringify({ ...event, id: undefined })],
    ['without data', JSON.stringify({ ...event, data: null })],
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
  ])('when the signed body is %s', (_, raw) => expect(reasonOf(raw, signed(raw))).toBe('payload'));
});

describe('Verifying is not possible', () => {
  it('with a body that was parsed already', () => {
    const parsed = event as unknown as string;
    expect(() => verifyWebhook(parsed, signed(body), secret, { now })).toThrow('rawBody');
  });

  it('with a missing secret: anyone could have signed with it', () => {
    for (const none of ['', undefined as unknown as string])
      expect(() => verifyWebhook(body, signed(body, timestamp, ''), none, { now })).toThrow(
        'secret is empty',
      );
  });
});
