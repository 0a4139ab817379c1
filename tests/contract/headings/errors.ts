import { randomUUID } from 'node:crypto';
import { call, expectError, type Problem, problemsOf } from '../support/http.js';
import { contactBody, paymentBody, postPayment, unknownId } from '../support/things.js';

async function reusedKey() {
  const body = await paymentBody({ paymentAmount: 1 });
  const key = randomUUID();
  await postPayment(body, key);
  return postPayment({ ...body, paymentAmount: 2 }, key);
}

const details = async (body: unknown): Promise<readonly Problem[]> =>
  (await call('POST', '/v1/contacts/', { body })).body.error?.details ?? [];

describe('Errors', () => {
  it('error-1 has a code to branch on', async () => {
    const unauthorized = await call('GET', '/v1/payments/', { as: null });
    expect(unauthorized.body.error?.code).toBe('UNAUTHORIZED');
    const missing = await call('GET', `/v1/payments/${unknownId}`);
    expect(missing.body.error?.code).toBe('NOT_FOUND');
    const wrong = await call('GET', '/v1/payments/?limit=0');
    expect(wrong.body.error?.code).toBe('VALIDATION_ERROR');
  });

  it('error-2 has a message that people can read', async () => {
    for (const path of [`/v1/payments/${unknownId}`, '/v1/payments/?limit=0', '/v1/nothing'])
      expect((await call('GET', path)).body.error?.message).toMatch(/^\w+( [\w.;,/-]+)+$/);
  });

  it('error-3 has details for validation errors only', async () => {
    const invalid = [
      await call('POST', '/v1/contacts/', { body: {} }),
      await call('GET', '/v1/payments/?limit=0'),
      await call('GET', '/v1/payments/?cursor=x'),
      await call('GET', '/v1/payments/7'),
    ];
    for (const answer of invalid) {
      expectError(answer, 400, 'VALIDATION_ERROR');
      expect(answer.body.error?.details?.length).toBeGreaterThan(0);
    }
    const contact = { body: await contactBody() };
    expect((await call('POST', '/v1/contacts/', contact)).status).toBe(201);
    const others = [
      ['401 UNAUTHORIZED', await call('GET', '/v1/payments/', { as: null })],
      ['404 NOT_FOUND', await call('GET', `/v1/payments/${unknownId}`)],
      ['404 NOT_FOUND', await call('GET', '/v1/nothing')],
      ['400 INVALID_JSON', await call('POST', '/v1/contacts/', { raw: '{"a":1,"a":2}' })],
      ['400 IDEMPOTENCY_KEY_REQUIRED', await call('POST', '/v1/payments/', { body: {} })],
      ['409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY', await reusedKey()],
      ['409 CONFLICT', await call('POST', '/v1/contacts/', contact)],
      ['413 PAYLOAD_TOO_LARGE', await call('POST', '/v1/contacts/', { raw: ' '.repeat(70_000) })],
      [
        '415 UNSUPPORTED_MEDIA_TYPE',
        await call('POST', '/v1/contacts/', { raw: '{}', headers: { 'content-type': 'text/css' } }),
      ],
    ] as const;
    for (const [what, { status, body }] of others)
      expect([`${status} ${String(body.error?.code)}`, Object.keys(body.error ?? {})]).toEqual([
        what,
        ['code', 'message'],
      ]);
  });

  it('error-4 names the field by a dotted path, a stable issue and a message', async () => {
    const body = await contactBody({
      bankAccount: { subType: 'CHECKING', achRoutingNumber: '1', achAccountNumber: 'x' },
      legalAddress: { city: 'Albany' },
    });
    const found = await details(body);
    expect(found.map(({ field }) => field)).toEqual(
      expect.arrayContaining([
        'bankAccount.achRoutingNumber',
        'bankAccount.achAccountNumber',
        'legalAddress.state',
      ]),
    );
    for (const problem of found)
      expect(problem).toEqual({
        field: expect.stringMatching(/^[\w.]+$/),
        issue: expect.stringMatching(/^validation_[a-z_]+$/),
        message: expect.stringMatching(/\S/),
      });
    const events = { url: 'https://receiver.invalid/', subscribedEvents: ['payment.*', '*'] };
    expect(problemsOf(await call('POST', '/v1/webhooks', { body: events }))).toEqual([
      'subscribedEvents.1 validation_event_type',
    ]);
  });

  it('error-5 may name a field more than once, and names every field that is wrong', async () => {
    const body = await contactBody({ firstName: '', email: 'x', phoneNumber: 'x' });
    const fields = (await details(body)).map(({ field }) => field);
    expect(new Set(fields)).toEqual(new Set(['firstName', 'email', 'phoneNumber']));
  });
});

describe('Versioning', () => {
  it('versioning-1 has the major version in every path', async () => {
    for (const path of ['/payments/', '/v2/payments/', '/contacts/', '/webhooks'])
      expectError(await call('GET', path), 404, 'NOT_FOUND');
    expect((await call('GET', '/v1/payments/')).status).toBe(200);
    expect((await postPayment(await paymentBody())).status).toBe(201);
  });
});
