import { randomUUID } from 'node:crypto';
import { type PaymentDetails, payment as payments } from '@pis/domain';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { by, createContact, type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, idsOf, issuesOf, type Payer } from './testing/payments.js';

let database: TestDatabase;
let gateway: Gateway;
let payer: Payer;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  payer = await createPayer(gateway);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const nextCursorOf = (reply: Awaited<ReturnType<Payer['list']>>) =>
  reply.body?.meta?.pagination?.nextCursor ?? null;

/** All pages, by their cursors. Calls `between` after each page. */
async function pagesOf(of: Payer, query: string, between = async () => {}): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const reply = await of.list(`?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(reply.status).toBe(200);
    seen.push(...idsOf(reply));
    cursor = nextCursorOf(reply);
    await between();
  }
  return seen;
}

/** Stores a payment with the given time, as if another machine had created it. */
async function paymentAt(of: Payer, at: string): Promise<string> {
  const like = repository(gateway.store, payments);
  const { state } = await like.load(idOf(await of.pay()));
  if (state === null) throw new Error('no payment to take after');
  const paymentId = randomUUID();
  const data: PaymentDetails = { ...state, paymentId };
  await like.execute(paymentId, { type: 'QueuePayment', at, data }, by);
  return paymentId;
}

describe('a list of payments', () => {
  it('has new payments at once, newest first, 20 a page', async () => {
    const own = await createPayer(gateway);
    for (let count = 1; count <= 5; count += 1) {
      const paymentId = idOf(await own.pay());
      const ids = idsOf(await own.list());
      expect(ids).toContain(paymentId);
      expect(ids).toHaveLength(count);
    }
    const reply = await own.list();
    expect(reply.body?.meta?.pagination).toEqual({ limit: 20, nextCursor: null });
    const times = (reply.body?.data as { createdAt: string }[]).map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it('shows each payment once while others arrive, even payments of the same millisecond', async () => {
    const own = await createPayer(gateway);
    const at = '2020-02-02T02:02:02.222Z';
    const same = await Promise.all(Array.from({ length: 11 }, () => paymentAt(own, at)));
    await until(async () => idsOf(await own.list(`?createdTo=${at}`)).length === same.length, {
      timeoutMs: 20_000,
    });
    const seen = await pagesOf(own, 'limit=3', async () => void (await own.pay()));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => same.includes(String(id)))).toHaveLength(same.length);
    expect(await pagesOf(own, `limit=1&createdFrom=${at}&createdTo=${at}`)).toEqual(
      [...same].sort().reverse(),
    );
  });

  it('has pages of 1 to 100, the last of them with a null cursor', async () => {
    const own = await createPayer(gateway);
    const created = await Promise.all(Array.from({ length: 5 }, () => own.pay()));
    expect(new Set(await pagesOf(own, 'limit=1'))).toEqual(new Set(created.map(idOf)));
    expect(nextCursorOf(await own.list('?limit=4'))).toEqual(expect.any(String));
    expect(nextCursorOf(await own.list('?limit=5'))).toBeNull();
    expect((await own.list('?limit=100')).body?.meta?.pagination?.limit).toBe(100);
    for (const limit of ['0', '101', '-1', '1.5', 'ten', '', '1e1', '0x10', '9'.repeat(40)])
      expect([limit, codeOf(await own.list(`?limit=${limit}`))]).toEqual([
        limit,
        '400 VALIDATION_ERROR',
      ]);
  });

  it('reports all problems of its parameters at once, and ignores unknown parameters', async () => {
    const all = `?cursor=made-up&limit=0&status=queued&originatorId=1&contactId=2&direction=UP&paymentRail=ach&externalPaymentId=&idempotencyKey=&createdFrom=now&createdTo=2026-02-30&unknown=1`;
    expect(issuesOf(await payer.list(all)).sort()).toEqual([
      'contactId validation_uuid',
      'createdFrom validation_datetime',
      'createdTo validation_datetime',
      'cursor validation_cursor',
      'direction validation_enum',
      'externalPaymentId validation_min_length',
      'idempotencyKey validation_min_length',
      'limit validation_min',
      'originatorId validation_uuid',
      'paymentRail validation_enum',
      'status validation_enum',
    ]);
    const unknown = '?unknown=1&unknown=2&limit[]=7&__proto__=1&constructor=2&toString=3';
    expect(codeOf(await payer.list(unknown))).toBe('200');
  });

  it.each([
    'cursor',
    'limit',
    'status',
    'originatorId',
    'contactId',
    'direction',
    'paymentRail',
    'externalPaymentId',
    'idempotencyKey',
    'createdFrom',
    'createdTo',
  ])('refuses the parameter %s given twice, even with one value', async (name) => {
    const reply = await payer.list(`?${name}=1&${name}=1`);
    expect(codeOf(reply)).toBe('400 VALIDATION_ERROR');
    expect(issuesOf(reply)).toEqual([`${name} validation_type`]);
  });
});

describe('a cursor', () => {
  it('is not valid for others, for other lists, or after any change', async () => {
    const other = await createPayer(gateway);
    for (let count = 0; count < 2; count += 1) await payer.pay();
    const cursor = nextCursorOf(await payer.list('?limit=1')) ?? '';
    expect(codeOf(await payer.list(`?cursor=${cursor}`))).toBe('200');
    expect(issuesOf(await other.list(`?cursor=${cursor}`))).toEqual(['cursor validation_cursor']);
    const { tenant } = payer;
    for (const path of ['/v1/contacts/', '/v1/originators/'])
      expect(issuesOf(await gateway.call(`${path}?cursor=${cursor}`, { tenant }))).toEqual([
        'cursor validation_cursor',
      ]);
    const text = Buffer.from(cursor, 'base64url').toString();
    const made = [
      cursor.slice(0, -1),
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}=`,
      cursor.toUpperCase(),
      Buffer.from(text.replace(/\d/, (digit) => String((Number(digit) + 1) % 10))).toString(
        'base64url',
      ),
      Buffer.from(text.slice(0, text.lastIndexOf('/'))).toString('base64url'),
      Buffer.from(`v0/${text}`).toString('base64url'),
      Buffer.from(JSON.stringify({ createdAt: '2026-01-01', id: randomUUID() })).toString('base64'),
      '%00',
      '%20',
      'null',
      'x'.repeat(5_000),
    ];
    for (const tampered of made)
      expect([tampered, issuesOf(await payer.list(`?cursor=${tampered}`))]).toEqual([
        tampered,
        ['cursor validation_cursor'],
      ]);
  });

  it('given empty is malformed, not absent', async () => {
    expect(issuesOf(await payer.list('?cursor='))).toEqual(['cursor validation_cursor']);
  });
});

describe('filters', () => {
  let own: Payer;
  let paymentId: string;
  let values: Readonly<Record<string, { readonly hit: string; readonly miss: string }>>;

  beforeAll(async () => {
    own = await createPayer(gateway);
    const body = own.body({ externalPaymentId: 'invoice 7/ü', direction: 'INBOUND' });
    paymentId = idOf(await own.pay({ key: 'the key', body }));
    // Payments that a missing filter would also show.
    const otherContact = await createContact(gateway, own.tenant, { email: 'other@x.example' });
    await own.pay({ body: own.body({ contactId: otherContact }) });
    values = {
      status: { hit: 'QUEUED', miss: 'COMPLETED' },
      originatorId: { hit: own.tenant.originatorId.toUpperCase(), miss: randomUUID() },
      contactId: { hit: own.contactId, miss: otherContact.replace(/^./, '0') },
      direction: { hit: 'INBOUND', miss: 'OUTBOUND' },
      paymentRail: { hit: 'ACH', miss: 'SWIFT' },
      externalPaymentId: { hit: 'invoice 7/ü', miss: 'invoice 7/Ü' },
      idempotencyKey: { hit: ' the key ', miss: 'The key' },
      createdFrom: { hit: '2000-01-01T00:00:00+14:00', miss: '2999-01-01' },
      createdTo: { hit: '2999-01-01', miss: '2001-01-01T00:00:00Z' },
    };
  });
  const found = async (chosen: Readonly<Record<string, string>>) =>
    idsOf(await own.list(`?${new URLSearchParams(chosen).toString()}`)).includes(paymentId);

  it('each find the payment by its value and hide it for another', async () => {
    for (const [name, { hit, miss }] of Object.entries(values)) {
      expect([name, await found({ [name]: hit })]).toEqual([name, true]);
      expect([name, await found({ [name]: miss })]).toEqual([name, false]);
    }
  });

  it('apply together: every pair, and all except any one', async () => {
    const hits = Object.fromEntries(Object.entries(values).map(([name, { hit }]) => [name, hit]));
    expect(await found(hits)).toBe(true);
    for (const [name, { miss }] of Object.entries(values))
      expect([name, await found({ ...hits, [name]: miss })]).toEqual([name, false]);
    for (const [first, { hit }] of Object.entries(values))
      for (const [second, { miss }] of Object.entries(values))
        if (first !== second)
          expect([first, second, await found({ [first]: hit, [second]: miss })]).toEqual([
            first,
            second,
            false,
          ]);
  });
});

describe('looking a payment up by its Idempotency-Key', () => {
  it('finds it at once without the lists', async () => {
    const alone = await startGateway({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing',
      projects: false,
    });
    try {
      const own = await createPayer(alone);
      const paymentId = idOf(await own.pay({ key: 'invoice-7' }));
      const reply = await own.list('?idempotencyKey=invoice-7&limit=5');
      expect(idsOf(reply)).toEqual([paymentId]);
      expect(reply.body?.meta?.pagination).toEqual({ limit: 5, nextCursor: null });
      expect(idsOf(await own.list('?idempotencyKey=invoice-8'))).toEqual([]);
      const other = await createPayer(alone);
      expect(idsOf(await other.list('?idempotencyKey=invoice-7'))).toEqual([]);
    } finally {
      await alone.close();
    }
  });

  it('shows it exactly as the list does', async () => {
    const own = await createPayer(gateway);
    await own.pay({ key: 'k', body: own.body({ paymentNote: 'Rent', externalPaymentId: 'x' }) });
    const { data } = (await own.list()).body ?? {};
    expect((await own.list('?idempotencyKey=k')).body?.data).toEqual(data);
  });

  it('obeys a cursor: items of an earlier page do not return', async () => {
    const own = await createPayer(gateway);
    await own.pay({ key: 'older' });
    const clock = new Date().toISOString();
    await until(() => new Date().toISOString() > clock, { timeoutMs: 20_000 });
    await own.pay({ key: 'newer' });
    const cursor = nextCursorOf(await own.list('?limit=1')) ?? '';
    expect(idsOf(await own.list(`?idempotencyKey=newer&cursor=${cursor}`))).toEqual([]);
    expect(idsOf(await own.list(`?idempotencyKey=older&cursor=${cursor}`))).toHaveLength(1);
  });

  it('answers 503 while the store is unavailable', async () => {
    const store = memoryEventStore();
    let away = false;
    const readStream: EventStore['readStream'] = (...args) =>
      away
        ? Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
        : store.readStream(...args);
    const own = await startGateway({
      databaseUrl: database.url,
      store: { ...store, readStream },
      projects: false,
    });
    try {
      const theirs = await createPayer(own);
      away = true;
      expect(codeOf(await theirs.list('?idempotencyKey=k'))).toBe('503 SERVICE_UNAVAILABLE');
    } finally {
      await own.close();
    }
  });
});
