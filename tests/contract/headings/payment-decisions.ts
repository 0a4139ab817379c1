/** What docs/api-decisions.md decides about payments: creating them, and the filters of their list. */
import { randomUUID } from 'node:crypto';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { itWithKeys } from '../support/target.js';
import {
  bankAccount,
  contactBody,
  createContact,
  createPayment,
  getPayment,
  idOf,
  idsOf,
  inStatus,
  type Json,
  listPayments,
  originatorId,
  otherRoutingNumber,
  paymentBody,
  postPayment,
  routingNumber,
  secondOriginatorId,
} from '../support/things.js';

const problemsWith = async (changes: Json) =>
  problemsOf(await postPayment({ ...(await paymentBody()), ...changes }));
const accepted = async (changes: Json) => getPayment(await createPayment(changes));

describe('Payment', () => {
  it('payment-decision-1 takes a paymentNote of up to 500 characters, or none', async () => {
    expect((await accepted({})).paymentNote).toBeNull();
    for (const paymentNote of ['n', 'ü'.repeat(500), '🧾'.repeat(500)])
      expect((await accepted({ paymentNote })).paymentNote).toBe(paymentNote);
    expect(await problemsWith({ paymentNote: 'n'.repeat(501) })).toEqual([
      'paymentNote validation_max_length',
    ]);
  });

  it('payment-decision-2 takes an externalPaymentId of 1 to 255 characters, or none', async () => {
    expect((await accepted({})).externalPaymentId).toBeNull();
    for (const externalPaymentId of ['e', 'e'.repeat(255)])
      expect((await accepted({ externalPaymentId })).externalPaymentId).toBe(externalPaymentId);
    expect(await problemsWith({ externalPaymentId: '' })).toEqual([
      'externalPaymentId validation_min_length',
    ]);
    expect(await problemsWith({ externalPaymentId: 'e'.repeat(256) })).toEqual([
      'externalPaymentId validation_max_length',
    ]);
  });

  it('payment-decision-3 takes null for absent, also in the comparison', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    const nulls = { paymentNote: null, externalPaymentId: null };
    const paymentId = idOf(await postPayment({ ...body, ...nulls }, key));
    expect(await getPayment(paymentId)).toMatchObject(nulls);
    expect(idOf(await postPayment(body, key))).toBe(paymentId);
    expect(await problemsWith({ direction: null })).toEqual(['direction validation_required']);
  });

  it('payment-decision-4 takes an amount of up to 99,999,999,999', async () => {
    const most = 99_999_999_999;
    expect((await accepted({ paymentAmount: most })).paymentAmount).toBe(most);
    for (const paymentAmount of [most + 1, Number.MAX_SAFE_INTEGER, 1e300])
      expect(await problemsWith({ paymentAmount })).toContain('paymentAmount validation_max');
  });

  it('payment-decision-5 refuses a contact of another originator', async () => {
    const contactId = await createContact({ originatorId: await secondOriginatorId() });
    expect(await problemsWith({ contactId })).toEqual([
      'contactId validation_contact_originator_mismatch',
    ]);
  });

  it('payment-decision-6 refuses a contact without a bank account', async () => {
    const contactId = await createContact({ bankAccount: null });
    for (const direction of ['INBOUND', 'OUTBOUND'])
      expect(await problemsWith({ contactId, direction })).toEqual([
        'contactId validation_contact_bank_account_required',
      ]);
  });

  it('payment-decision-7 is in USD', async () => {
    for (const direction of ['INBOUND', 'OUTBOUND'])
      expect((await accepted({ direction })).currencyCode).toBe('USD');
  });

  it('payment-decision-8 records its rail at creation, and INBOUND is an ACH debit', async () => {
    for (const direction of ['INBOUND', 'OUTBOUND']) {
      const { paymentId, paymentRail } = await accepted({ direction });
      expect(paymentRail).toMatch(/^(ACH|FEDNOW|RTP|FEDWIRE|SWIFT)$/);
      if (direction === 'INBOUND') expect(paymentRail).toBe('ACH');
      expect((await inStatus(paymentId, 'COMPLETED')).paymentRail).toBe(paymentRail);
    }
  });

  it('payment-decision-12 takes a rail that reaches the bank, the amount and the time', async () => {
    const to = async (achRoutingNumber: string, paymentAmount: number) => {
      const contactId = await createContact({
        bankAccount: { ...bankAccount(), achRoutingNumber },
      });
      return (await accepted({ contactId, direction: 'OUTBOUND', paymentAmount })).paymentRail;
    };
    expect(['RTP', 'FEDNOW']).toContain(await to(routingNumber, 100));
    // Above the limit of instant rails: a wire, or ACH while Fedwire is closed.
    expect(['FEDWIRE', 'ACH']).toContain(await to(routingNumber, 2_000_000_000));
    expect(await to(otherRoutingNumber, 100)).toBe('ACH');
  });

  itWithKeys(
    'payment-decision-9 has an idempotency key for each organization',
    ['other_organization'],
    async () => {
      const as = 'other_organization';
      const theirs = await contactBody({ originatorId: await originatorId(as) });
      const { contactId } = await data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
        as,
        body: theirs,
      });
      const key = randomUUID();
      const ours = await paymentBody();
      const foreign = { ...ours, contactId, originatorId: theirs['originatorId'] };
      const paymentId = idOf(await postPayment(ours, key));
      const answer = await postPayment(foreign, key, as);
      expect(idOf(answer)).not.toBe(paymentId);
      expect(answer.headers.get('idempotent-replayed')).toBeNull();
    },
  );

  it('payment-decision-10 says of a replayed 201 that it is one', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    const replayed = async () => (await postPayment(body, key)).headers.get('idempotent-replayed');
    expect(await replayed()).toBeNull();
    expect(await replayed()).toBe('true');
    expect(await replayed()).toBe('true');
  });

  it('payment-decision-11 names in a 409 each field that differs, and the original payment', async () => {
    const body = await paymentBody({ paymentNote: 'n' });
    const key = randomUUID();
    const paymentId = idOf(await postPayment(body, key));
    const fields = [
      'originatorId',
      'contactId',
      'paymentAmount',
      'direction',
      'paymentNote',
      'externalPaymentId',
    ];
    const changes: readonly Json[] = [
      { paymentAmount: 7 },
      { paymentNote: undefined },
      { direction: 'INBOUND', externalPaymentId: 'e', unknown: 1 },
      { originatorId: randomUUID(), contactId: randomUUID() },
    ];
    for (const change of changes) {
      const answer = await postPayment({ ...body, ...change }, key);
      expectError(answer, 409, 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY');
      expect(Object.keys(answer.body.error ?? {})).not.toContain('details');
      const { message = '' } = answer.body.error ?? {};
      expect(message).toContain(paymentId);
      const named = fields.filter((field) => message.includes(field));
      expect(named).toEqual(fields.filter((field) => field in change));
    }
  });
});

describe('List filters', () => {
  /** A payment alone with its contact, and how to look for it. */
  async function onePayment() {
    const contactId = await createContact();
    const { paymentId, createdAt } = await getPayment(await createPayment({ contactId }));
    const found = async (query: string) => {
      const ids = idsOf(await listPayments(`contactId=${contactId}&${query}`));
      expect(ids.every((id) => id === paymentId)).toBe(true);
      return ids.length === 1;
    };
    const shifted = (ms: number) => new Date(Date.parse(createdAt) + ms).toISOString();
    return { createdAt, found, shifted };
  }

  it('list-filter-1 includes the very milliseconds of createdFrom and createdTo', async () => {
    const { createdAt, found, shifted } = await onePayment();
    expect(await found(`createdFrom=${createdAt}&createdTo=${createdAt}`)).toBe(true);
    expect(await found(`createdFrom=${shifted(1)}`)).toBe(false);
    expect(await found(`createdTo=${shifted(-1)}`)).toBe(false);
  });

  it('list-filter-2 takes a date for the start of its day, and at the end for its end', async () => {
    const { createdAt, found, shifted } = await onePayment();
    const dayMs = 86_400_000;
    const [day, dayAfter, dayBefore] = [createdAt, shifted(dayMs), shifted(-dayMs)].map((time) =>
      time.slice(0, 10),
    );
    expect(await found(`createdFrom=${day}&createdTo=${day}`)).toBe(true);
    expect(await found(`createdFrom=${dayAfter}`)).toBe(false);
    expect(await found(`createdTo=${dayBefore}`)).toBe(false);
    expect(await found(`createdFrom=${dayBefore}&createdTo=${dayAfter}`)).toBe(true);
  });

  it('list-filter-3 refuses a from that is after to', async () => {
    const ranges = [
      'createdFrom=2026-03-02&createdTo=2026-03-01',
      'createdFrom=2026-03-01T00:00:00.001Z&createdTo=2026-03-01T00:00:00Z',
    ];
    for (const range of ranges)
      expect(problemsOf(await call('GET', `/v1/payments/?${range}`))).toEqual([
        'createdTo validation_date_range',
      ]);
    const same = 'createdFrom=2026-03-01T00:00:00Z&createdTo=2026-03-01T00:00:00Z';
    expect((await call('GET', `/v1/payments/?${same}`)).status).toBe(200);
  });

  it('list-filter-4 refuses a parameter that is given twice', async () => {
    const given: Json = {
      limit: 5,
      status: 'QUEUED',
      direction: 'INBOUND',
      originatorId: randomUUID(),
      createdFrom: '2026-03-01',
      createdTo: '2026-03-01',
    };
    for (const [name, value] of Object.entries(given)) {
      const answer = await call('GET', `/v1/payments/?${name}=${value}&${name}=${value}`);
      expect(problemsOf(answer).map((each) => each.split(' ')[0])).toEqual([name]);
    }
  });

  it('list-filter-5 ignores parameters that it does not know', async () => {
    const { found } = await onePayment();
    expect(await found('color=blue&color=red&sort=asc')).toBe(true);
  });

  itWithKeys(
    'list-filter-6 takes a cursor only as it was given, and from the organization it was given to',
    ['other_organization'],
    async () => {
      const contactId = await createContact();
      for (let n = 0; n < 2; n += 1) await createPayment({ contactId });
      const page = await call('GET', `/v1/payments/?limit=1&contactId=${contactId}`);
      const cursor = page.body.meta?.pagination?.nextCursor ?? '';
      const use = (changed: string, as: 'full_access' | 'other_organization') =>
        call('GET', `/v1/payments/?cursor=${encodeURIComponent(changed)}`, { as });
      expect((await use(cursor, 'full_access')).status).toBe(200);
      const wrong = ['cursor validation_cursor'];
      expect(problemsOf(await use(cursor, 'other_organization'))).toEqual(wrong);
      for (let at = 0; at < cursor.length - 1; at += 7) {
        const other = cursor[at] === 'A' ? 'B' : 'A';
        const changed = `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`;
        expect(problemsOf(await use(changed, 'full_access'))).toEqual(wrong);
      }
    },
  );
});

describe('Reads as of a time', () => {
  it('audit-13 asOf takes a time in ISO 8601 that is not in the future', async () => {
    const paymentId = await createPayment();
    const { createdAt } = await getPayment(paymentId);
    const paths = [
      `/v1/payments/${paymentId}`,
      '/v1/payments/',
      '/v1/contacts/',
      '/v1/originators/',
    ];
    for (const path of paths) {
      const answerTo = (asOf: string) => call('GET', `${path}?asOf=${encodeURIComponent(asOf)}`);
      expect([path, (await answerTo(createdAt)).status]).toEqual([path, 200]);
      for (const wrong of ['noon', '2026-02-30', '9999-12-31T00:00:00Z'])
        expect(problemsOf(await answerTo(wrong)).map((each) => each.split(' ')[0])).toEqual([
          'asOf',
        ]);
    }
    const before = new Date(Date.parse(createdAt) - 1).toISOString();
    expectError(await call('GET', `/v1/payments/${paymentId}?asOf=${before}`), 404, 'NOT_FOUND');
  });
});
