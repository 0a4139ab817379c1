import { randomUUID } from 'node:crypto';
import type { PaymentListItem } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { arrivalLimitMs, itWithKeys } from '../support/target.js';
import {
  createContact,
  createPayment,
  getPayment,
  idsOf,
  inStatus,
  listPayments,
  originatorId,
  originators,
  paymentIn,
  unknownId,
} from '../support/things.js';

/** All pages, from the first to the one whose nextCursor is null. */
async function pages(query: string, limit: number): Promise<PaymentListItem[][]> {
  const found: PaymentListItem[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await call('GET', `/v1/payments/?limit=${limit}&${query}${more}`);
    expect(status).toBe(200);
    found.push(body.data as PaymentListItem[]);
    cursor = body.meta?.pagination?.nextCursor ?? null;
  }
  return found;
}

/** That many payments to one new contact, so that a list has nothing else; oldest first. */
async function paymentsToOne(count: number) {
  const contactId = await createContact();
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await createPayment({ contactId }));
  return { query: `contactId=${contactId}`, contactId, ids };
}

const times = (items: readonly PaymentListItem[]) => items.map(({ createdAt }) => createdAt);

describe('GET /v1/payments/{paymentId}', () => {
  it('payment-read-1 answers with the record of the payment', async () => {
    const paymentId = await createPayment();
    const payment = await inStatus(paymentId, 'COMPLETED');
    expect(payment.paymentId).toBe(paymentId);
    expect(await data(200, 'GET', `/v1/payments/${paymentId}`)).toEqual(payment);
  });

  itWithKeys(
    'payment-read-2 answers 400 to what is no id, 401 without a key, 404 to foreign ids',
    ['other_organization'],
    async () => {
      const paymentId = await createPayment();
      for (const wrong of ['7', `${paymentId}0`, 'not-a-uuid', '%00'])
        expectError(await call('GET', `/v1/payments/${wrong}`), 400, 'VALIDATION_ERROR');
      const anonymous = await call('GET', `/v1/payments/${paymentId}`, { as: null });
      expectError(anonymous, 401, 'UNAUTHORIZED');
      expectError(await call('GET', `/v1/payments/${unknownId}`), 404, 'NOT_FOUND');
      const foreign = await call('GET', `/v1/payments/${paymentId}`, { as: 'other_organization' });
      expectError(foreign, 404, 'NOT_FOUND');
    },
  );
});

describe('GET /v1/payments/', () => {
  it('payment-list-1 goes on at the cursor, and shows each payment once', async () => {
    const { query, ids } = await paymentsToOne(5);
    const found = await pages(query, 2);
    expect(found.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(idsOf(found.flat()).sort()).toEqual([...ids].sort());
  });

  it('payment-list-2 has 20 items by default, and 1 to 100 on request', async () => {
    const limitOf = async (query: string) =>
      (await call('GET', `/v1/payments/${query}`)).body.meta?.pagination?.limit;
    expect(await limitOf('')).toBe(20);
    expect(await limitOf('?limit=1')).toBe(1);
    expect(await limitOf('?limit=100')).toBe(100);
    await createPayment();
    expect(await listPayments('limit=1')).toHaveLength(1);
    for (const wrong of ['0', '101', '-1', '2.5', 'ten', ''])
      expectError(await call('GET', `/v1/payments/?limit=${wrong}`), 400, 'VALIDATION_ERROR');
  });

  it('payment-list-3 filters by each of the nine statuses, and knows no other', async () => {
    const { paymentId } = await paymentIn('BLOCKED', '0301');
    await until(
      async () => idsOf(await listPayments('status=BLOCKED&limit=100')).includes(paymentId),
      { timeoutMs: arrivalLimitMs },
    );
    for (const status of ['QUEUED', 'CANCELED', 'AWAITING_CONFIRMATION'])
      for (const item of await listPayments(`status=${status}&limit=100`))
        expect(item.status).toBe(status);
    expect(problemsOf(await call('GET', '/v1/payments/?status=DONE'))).toEqual([
      'status validation_enum',
    ]);
  });

  it('payment-list-4 filters by originatorId', async () => {
    const paymentId = await createPayment();
    const own = await originatorId();
    const mine = await listPayments(`originatorId=${own}&limit=100`);
    expect(idsOf(mine)).toContain(paymentId);
    for (const { originator } of mine) expect(originator.id).toBe(own);
    for (const { originatorId: id } of (await originators()).slice(1))
      expect(idsOf(await listPayments(`originatorId=${id}&limit=100`))).not.toContain(paymentId);
    expect(await listPayments(`originatorId=${randomUUID()}`)).toEqual([]);
  });

  it('payment-list-5 filters by direction', async () => {
    const inbound = await createPayment({ direction: 'INBOUND' });
    const outbound = await createPayment({ direction: 'OUTBOUND' });
    const ids = async (direction: string) =>
      idsOf(await listPayments(`direction=${direction}&limit=100`));
    expect(await ids('INBOUND')).toContain(inbound);
    expect(await ids('INBOUND')).not.toContain(outbound);
    expect(await ids('OUTBOUND')).toContain(outbound);
  });

  it('payment-list-6 has those created on or after createdFrom', async () => {
    const { query, ids } = await paymentsToOne(3);
    const [, middle] = await Promise.all(ids.map(getPayment));
    const from = encodeURIComponent(middle?.createdAt ?? '');
    const found = idsOf(await listPayments(`${query}&createdFrom=${from}`));
    expect(found).toContain(middle?.paymentId);
    expect(found).toContain(ids[2]);
    expect(await listPayments(`${query}&createdFrom=2999-01-01T00:00:00Z`)).toEqual([]);
  });

  it('payment-list-7 has those created on or before createdTo', async () => {
    const { query, ids } = await paymentsToOne(3);
    const [, middle] = await Promise.all(ids.map(getPayment));
    const to = encodeURIComponent(middle?.createdAt ?? '');
    const found = idsOf(await listPayments(`${query}&createdTo=${to}`));
    expect(found).toContain(middle?.paymentId);
    expect(found).toContain(ids[0]);
    expect(await listPayments(`${query}&createdTo=1999-01-01T00:00:00Z`)).toEqual([]);
  });

  it('payment-list-8 answers with a list of items, the limit and the next cursor', async () => {
    const { query } = await paymentsToOne(2);
    const { body } = await call('GET', `/v1/payments/?limit=1&${query}`);
    expect(body.data).toEqual([expect.objectContaining({ paymentId: expect.any(String) })]);
    expect(body.meta?.pagination).toEqual({ limit: 1, nextCursor: expect.stringMatching(/./) });
  });

  it('payment-list-9 is in the order of creation, newest first, over all pages', async () => {
    const { query } = await paymentsToOne(5);
    const all = (await pages(query, 2)).flat();
    expect(times(all)).toEqual(times(all).sort().reverse());
    const newest = await listPayments('limit=100');
    expect(times(newest)).toEqual(times(newest).sort().reverse());
  });

  it('payment-list-10 has null as nextCursor on the last page, full or not', async () => {
    const { query } = await paymentsToOne(2);
    const cursorAt = async (limit: number) =>
      (await call('GET', `/v1/payments/?limit=${limit}&${query}`)).body.meta?.pagination
        ?.nextCursor;
    expect(await cursorAt(2)).toBeNull();
    expect(await cursorAt(3)).toBeNull();
    expect(await cursorAt(1)).toEqual(expect.any(String));
    const none = await call('GET', `/v1/payments/?contactId=${randomUUID()}`);
    expect(none.body).toMatchObject({ data: [], meta: { pagination: { nextCursor: null } } });
  });

  it('payment-list-11 answers 400 to a cursor that is none', async () => {
    const { query } = await paymentsToOne(2);
    const good = (await call('GET', `/v1/payments/?limit=1&${query}`)).body.meta?.pagination
      ?.nextCursor;
    const wrong = ['x', '', `${good}x`, `x${good}`, String(good).slice(0, -2), '%00', '🧾'];
    for (const cursor of wrong) {
      const path = `/v1/payments/?cursor=${encodeURIComponent(cursor)}`;
      expect(problemsOf(await call('GET', path))).toEqual(['cursor validation_cursor']);
    }
  });

  it('payment-list-12 answers 400 to parameters that are not valid, all at once', async () => {
    const query = 'status=x&originatorId=x&direction=x&createdFrom=x&createdTo=x&limit=x&cursor=x';
    const fields = problemsOf(await call('GET', `/v1/payments/?${query}`)).map(
      (problem) => problem.split(' ')[0],
    );
    expect(fields).toEqual(
      ['status', 'originatorId', 'direction', 'createdFrom', 'createdTo', 'limit', 'cursor'].sort(),
    );
  });

  it('payment-list-13 answers 401 without a good key', async () => {
    expectError(await call('GET', '/v1/payments/', { as: null }), 401, 'UNAUTHORIZED');
    const headers = { authorization: 'Bearer pis_test_notakeynotakeynotakeynotakey' };
    expectError(await call('GET', '/v1/payments/', { as: null, headers }), 401, 'UNAUTHORIZED');
  });
});
