import {
  paymentCreateSchema,
  paymentListSchema,
  recognizedPaymentFields,
  simulateSchema,
} from './payment-requests.js';
import { validate, validationCodes } from './validation.js';
import { webhookCreateSchema, webhookPatchSchema } from './webhook-requests.js';

const originatorId = '7d0c5b7e-3f5a-4c6e-9b0a-2f6f0c1d2e3f';
const contactId = '0c5b7d7e-5a3f-6e4c-0a9b-6f0c2f1d2e3f';
const payment = { originatorId, contactId, paymentAmount: 12_345, direction: 'OUTBOUND' };

const problemsOf = (schema: Parameters<typeof validate>[0], input: unknown) => {
  const result = validate(schema, input);
  return result.ok ? [] : result.problems.map(({ field, issue }) => `${field}: ${issue}`);
};

describe('creating a payment', () => {
  it('accepts null for an absent note and label', () => {
    const value = { ...payment, paymentNote: null, externalPaymentId: null };
    expect(validate(paymentCreateSchema, payment)).toEqual({ ok: true, value });
    expect(validate(paymentCreateSchema, { ...value, extra: [1] })).toEqual({ ok: true, value });
  });

  it('names every missing field at once', () => {
    expect(problemsOf(paymentCreateSchema, {})).toEqual([
      'originatorId: validation_required',
      'contactId: validation_required',
      'paymentAmount: validation_required',
      'direction: validation_required',
    ]);
  });

  it.each([
    ['paymentAmount', 0, 'validation_min'],
    ['paymentAmount', -5, 'validation_min'],
    ['paymentAmount', 100_000_000_000, 'validation_max'],
    ['paymentAmount', 1e20, 'validation_max'],
    ['paymentAmount', JSON.parse('1e400'), 'validation_max'],
    ['paymentAmount', JSON.parse('-1e400'), 'validation_min'],
    ['paymentAmount', -0, 'validation_min'],
    ['paymentAmount', 10.5, 'validation_integer'],
    ['paymentAmount', '100', 'validation_type'],
    ['paymentAmount', true, 'validation_type'],
    ['direction', 'outbound', 'validation_enum'],
    ['contactId', 'abc', 'validation_uuid'],
    ['paymentNote', 'x'.repeat(501), 'validation_max_length'],
    ['externalPaymentId', '', 'validation_min_length'],
    ['externalPaymentId', 'x'.repeat(256), 'validation_max_length'],
  ])('refuses %s = %j with %s', (field, value, issue) => {
    expect(problemsOf(paymentCreateSchema, { ...payment, [field]: value })).toEqual([
      `${field}: ${issue}`,
    ]);
  });

  it.each([1, 99_999_999_999])('accepts the amount %d', (paymentAmount) => {
    expect(problemsOf(paymentCreateSchema, { ...payment, paymentAmount })).toEqual([]);
  });

  it('compares exactly the six fields of the specification', () => {
    expect([...recognizedPaymentFields].sort()).toEqual(
      [...Object.keys(payment), 'externalPaymentId', 'paymentNote'].sort(),
    );
  });
});

describe('listing payments', () => {
  const list = (query: object) => validate(paymentListSchema, query);

  it('returns 20 by default', () => {
    expect(list({})).toEqual({ ok: true, value: { limit: 20 } });
    expect(list({ limit: '100', unknown: ['a', 'b'] })).toEqual({
      ok: true,
      value: { limit: 100 },
    });
  });

  it.each([
    ['2026-03-01', '2026-03-31', '2026-03-01T00:00:00.000Z', '2026-03-31T23:59:59.999Z'],
    [
      '2026-03-01T10:00Z',
      '2026-03-01T10:00:00Z',
      '2026-03-01T10:00:00.000Z',
      '2026-03-01T10:00:00.000Z',
    ],
    [
      '2026-03-01T10:00:00+02:00',
      '2026-03-01T10:00:00 02:00',
      '2026-03-01T08:00:00.000Z',
      '2026-03-01T08:00:00.000Z',
    ],
    [
      '2026-03-01T10:00:00.1234Z',
      '2026-03-01T10:00:00.2239Z',
      '2026-03-01T10:00:00.124Z',
      '2026-03-01T10:00:00.223Z',
    ],
    [
      '2026-03-01T10:00:00',
      '2026-03-01t10:00:00.5z',
      '2026-03-01T10:00:00.000Z',
      '2026-03-01T10:00:00.500Z',
    ],
  ])('reads createdFrom %s and createdTo %s', (createdFrom, createdTo, from, to) => {
    expect(list({ createdFrom, createdTo })).toMatchObject({
      value: { createdFrom: from, createdTo: to },
    });
  });

  it.each([
    [{ limit: '0' }, 'limit: validation_min'],
    [{ limit: '-1' }, 'limit: validation_min'],
    [{ limit: '101' }, 'limit: validation_max'],
    [{ limit: 'ten' }, 'limit: validation_integer'],
    [{ limit: '1.5' }, 'limit: validation_integer'],
    [{ limit: '' }, 'limit: validation_integer'],
    [{ limit: ['1', '2'] }, 'limit: validation_type'],
    [{ status: 'queued' }, 'status: validation_enum'],
    [{ status: '' }, 'status: validation_enum'],
    [{ originatorId: 'x' }, 'originatorId: validation_uuid'],
    [{ createdFrom: 'yesterday' }, 'createdFrom: validation_datetime'],
    [{ createdFrom: '2026-02-30' }, 'createdFrom: validation_datetime'],
    [{ createdTo: '2026-13-01T00:00:00Z' }, 'createdTo: validation_datetime'],
    [{ createdTo: '2026-01-01T24:00:00Z' }, 'createdTo: validation_datetime'],
    [{ createdFrom: '2026-03-02', createdTo: '2026-03-01' }, 'createdTo: validation_date_range'],
  ])('refuses %j', (query, problem) => {
    expect(problemsOf(paymentListSchema, query)).toEqual([problem]);
  });

  it('reports all problems at once', () => {
    expect(
      problemsOf(paymentListSchema, { limit: '0', status: 'x', direction: 'UP' }),
    ).toHaveLength(3);
  });
});

describe('webhook endpoints', () => {
  const endpoint = { url: 'https://example.com/hooks', subscribedEvents: ['payment.*'] };

  it('accepts event types and payment.*, each once', () => {
    const subscribedEvents = [
      'payment.queued',
      'statement.generated',
      'payment.*',
      'payment.queued',
    ];
    expect(validate(webhookCreateSchema, { ...endpoint, subscribedEvents })).toEqual({
      ok: true,
      value: {
        url: endpoint.url,
        subscribedEvents: ['payment.queued', 'statement.generated', 'payment.*'],
        label: null,
      },
    });
  });

  it.each([
    [{ subscribedEvents: [] }, ['subscribedEvents: validation_min_length']],
    [{ subscribedEvents: ['*'] }, ['subscribedEvents.0: validation_event_type']],
    [
      { subscribedEvents: ['payment.*', 'payment.QUEUED'] },
      ['subscribedEvents.1: validation_event_type'],
    ],
    [{ subscribedEvents: 'payment.*' }, ['subscribedEvents: validation_type']],
    [{ url: `https://example.com/${'x'.repeat(2_000)}` }, ['url: validation_max_length']],
    [{ label: '' }, ['label: validation_min_length']],
    [{ label: 'x'.repeat(256) }, ['label: validation_max_length']],
    [
      { url: null, subscribedEvents: null },
      ['url: validation_required', 'subscribedEvents: validation_required'],
    ],
  ])('refuses %j', (change, problems) => {
    expect(problemsOf(webhookCreateSchema, { ...endpoint, ...change })).toEqual(problems);
  });

  it('lets a patch unsubscribe from everything and clear the label, and refuses null elsewhere', () => {
    const patch = { subscribedEvents: [], label: null, enabled: false };
    expect(validate(webhookPatchSchema, patch)).toEqual({ ok: true, value: patch });
    expect(validate(webhookPatchSchema, {})).toEqual({ ok: true, value: {} });
    expect(problemsOf(webhookPatchSchema, { url: null, enabled: 'yes' })).toEqual([
      'url: validation_required',
      'enabled: validation_type',
    ]);
  });
});

describe('moving a sandbox payment by hand', () => {
  it('knows the five outcomes and the return codes', () => {
    expect(validate(simulateSchema, { outcome: 'return', returnReasonCode: 'R01' }).ok).toBe(true);
    expect(validate(simulateSchema, { outcome: 'complete' }).ok).toBe(true);
    expect(problemsOf(simulateSchema, { outcome: 'win', returnReasonCode: 'R86' })).toEqual([
      'outcome: validation_enum',
      'returnReasonCode: validation_enum',
    ]);
  });
});

it('keeps the validation codes stable', () => {
  expect([...validationCodes].sort()).toEqual(
    `validation_account_number validation_contact_bank_account_required
     validation_contact_originator_mismatch validation_country_code validation_cursor
     validation_date_range validation_datetime validation_email validation_enum
     validation_event_type validation_integer validation_max validation_max_length validation_min
     validation_min_length validation_phone_number validation_postal_code validation_required
     validation_routing_number validation_state validation_subscription_limit validation_swift_code
     validation_type validation_url validation_url_credentials validation_url_https
     validation_url_private_address validation_uuid`.split(/\s+/),
  );
});
