import { randomUUID } from 'node:crypto';
import { openAddresses } from '@pis/event-store';
import { createContact, type Gateway, startGatewayWithDatabase } from './testing/gateway.js';
import { codeOf, createPayer, idOf, type Payer } from './testing/payments.js';

let gateway: Gateway;
let payer: Payer;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase({ http: { trustedProxies: ['127.0.0.0/8'] } });
  payer = await createPayer(gateway);
});
afterAll(async () => {
  await gateway?.close();
});

describe('creating a payment', () => {
  it('records the address of the caller that a trusted proxy names, sealed for the organization', async () => {
    const address = '203.0.113.77';
    const forwarded = { 'x-forwarded-for': `198.51.100.1, ${address}` };
    const headers = { 'idempotency-key': randomUUID(), ...forwarded };
    const { tenant } = payer;
    const sent = { tenant, method: 'POST', body: payer.body(), headers } as const;
    const paymentId = idOf(await gateway.call('/v1/payments', sent));
    const events = await gateway.store.readStream(`payment-${paymentId}`);
    expect(JSON.stringify(events)).not.toContain(address);
    const owner = `organization:${tenant.organizationId}`;
    expect(await openAddresses(gateway.store, events)).toEqual([{ owner, address }]);
  });

  it.each([
    ['any text', 'x'.repeat(8_000)],
    ['a zone of any length', `fe80::1%${'z'.repeat(8_000)}`],
    ['control characters', '203.0.113.7\u009b2K'],
  ])(
    'records the address of the proxy if a trusted one names %s as the address',
    async (_what, text) => {
      // The client is in a trusted network itself, so that what it wrote is believed.
      const forwarded = { 'x-forwarded-for': `${text}, 127.0.0.1` };
      const headers = { 'idempotency-key': randomUUID(), ...forwarded };
      const { tenant } = payer;
      const sent = { tenant, method: 'POST', body: payer.body(), headers } as const;
      const paymentId = idOf(await gateway.call('/v1/payments', sent));
      const events = await gateway.store.readStream(`payment-${paymentId}`);
      expect(await openAddresses(gateway.store, events)).toMatchObject([{ address: '127.0.0.1' }]);
    },
  );

  it('answers 201 with the id, and the payment is QUEUED with masked accounts and its fees', async () => {
    const reply = await payer.pay({
      body: payer.body({ paymentNote: 'Rent', externalPaymentId: 'x-1' }),
    });
    expect(codeOf(reply)).toBe('201');
    expect(Object.keys(reply.body?.data as object)).toEqual(['paymentId']);
    expect(reply.body?.meta?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const { data } = (await payer.get(idOf(reply))).body ?? {};
    expect(data).toEqual({
      paymentId: idOf(reply),
      status: 'QUEUED',
      createdAt: expect.stringMatching(/Z$/) as string,
      completedAt: null,
      failedAt: null,
      returnedAt: null,
      canceledAt: null,
      paymentAmount: 12_345,
      discountFee: 61,
      flatFee: 25,
      returnFee: 400,
      currencyCode: 'USD',
      paymentRail: 'RTP',
      direction: 'OUTBOUND',
      paymentNote: 'Rent',
      externalPaymentId: 'x-1',
      failureCode: null,
      failureMessage: null,
      failureReason: null,
      returnReasonCode: null,
      originator: {
        id: payer.tenant.originatorId,
        firstName: null,
        lastName: null,
        companyName: 'Analytical Engines',
        entityType: 'BUSINESS',
        bankAccount: {
          bankName: 'JPMorgan Chase Bank',
          swiftCode: null,
          subType: 'CHECKING',
          achRoutingNumber: '*****0021',
          achAccountNumber: '********1000',
        },
      },
      contact: {
        id: payer.contactId,
        firstName: 'Ada',
        lastName: 'Lovelace',
        companyName: null,
        entityType: 'INDIVIDUAL',
        bankAccount: {
          bankName: expect.any(String) as string,
          swiftCode: null,
          subType: 'CHECKING',
          achRoutingNumber: '*****0021',
          achAccountNumber: '********6789',
        },
      },
    });
  });

  it('keeps full account numbers out of every event and every answer', async () => {
    const reply = await payer.pay();
    const answers = JSON.stringify([await payer.get(idOf(reply)), await payer.list()]);
    const { events } = await gateway.store.readLog({ after: '' });
    for (const number of ['000123456789', '987654321000', '021000021'])
      expect(JSON.stringify(events) + answers).not.toContain(number);
  });

  it('reports the missing key before a bad body, and a bad body before unknown records', async () => {
    const unknown = payer.body({ contactId: randomUUID(), paymentAmount: 0 });
    expect(codeOf(await payer.pay({ key: '', body: {} }))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(await payer.pay({ body: unknown }))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await payer.pay({ key: '', body: '{"a":1,"a":2}' }))).toBe('400 INVALID_JSON');
  });

  it('does not find records that do not exist or are another organization’s', async () => {
    const other = await gateway.createTenant();
    const theirContact = await createContact(gateway, other);
    const bodies = [
      payer.body({ contactId: randomUUID() }),
      payer.body({ originatorId: randomUUID() }),
      payer.body({ contactId: theirContact }),
      payer.body({ originatorId: other.originatorId }),
    ];
    for (const body of bodies) expect(codeOf(await payer.pay({ body }))).toBe('404 NOT_FOUND');
  });

  it('needs a contact of the originator with a bank account', async () => {
    const bare = await createContact(gateway, payer.tenant, {
      email: 'bare@x.example',
      bankAccount: null,
    });
    const reply = await payer.pay({ body: payer.body({ contactId: bare }) });
    expect(reply.body?.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: [{ field: 'contactId', issue: 'validation_contact_bank_account_required' }],
    });
  });
});

describe('reading payments', () => {
  it('refuses an invalid ID, and does not find an unknown or foreign one', async () => {
    const other = await createPayer(gateway);
    const paymentId = idOf(await payer.pay());
    expect(codeOf(await payer.get('not-a-uuid'))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await payer.get(randomUUID()))).toBe('404 NOT_FOUND');
    expect(codeOf(await other.get(paymentId))).toBe('404 NOT_FOUND');
    expect(codeOf(await payer.get(paymentId.toUpperCase()))).toBe('200');
  });
});
