import { randomUUID } from 'node:crypto';
import { webhookEndpoints } from '@pis/domain';
import { repository } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { PG_POOL } from '@pis/service-kit';
import type pg from 'pg';
import {
  type Call,
  contactBody,
  createContact,
  type Gateway,
  keyring,
  type Reply,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';

let gateway: Gateway;
let tenant: Tenant;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
});
afterAll(async () => {
  await gateway?.close();
});
beforeEach(async () => {
  tenant = await gateway.createTenant();
});

const call = (path: string, options: Call = {}, as = tenant) =>
  gateway.call(path, { tenant: as, ...options });
const codeOf = (reply: Reply) => `${reply.status} ${reply.body?.error?.code ?? ''}`.trim();
const itemsOf = (reply: Reply) => reply.body?.data as Record<string, unknown>[];
const issuesOf = (reply: Reply) =>
  reply.body?.error?.details?.map(({ field, issue }) => `${field} ${issue}`);

describe('originators', () => {
  it('are listed with masked accounts', async () => {
    // An operator created it, not this gateway, so the list shows it a moment later.
    const reply = await until(
      async () => {
        const listed = await call('/v1/originators/');
        return itemsOf(listed).length > 0 && listed;
      },
      { timeoutMs: 20_000 },
    );
    expect(reply.status).toBe(200);
    expect(itemsOf(reply)).toEqual([
      {
        originatorId: tenant.originatorId,
        entityType: 'BUSINESS',
        firstName: null,
        lastName: null,
        companyName: 'Analytical Engines',
        email: 'money@example.com',
        phoneNumber: null,
        legalAddress: null,
        bankAccount: {
          bankName: 'JPMorgan Chase Bank',
          swiftCode: null,
          subType: 'CHECKING',
          achRoutingNumber: '*****0021',
          achAccountNumber: '********1000',
        },
        createdAt: expect.any(String) as string,
        updatedAt: expect.any(String) as string,
      },
    ]);
    expect(reply.body?.meta).not.toHaveProperty('pagination');
    expect(codeOf(await call('/v1/originators', { key: null }))).toBe('401 UNAUTHORIZED');
  });

  it('are patched like contacts, but always keep an account', async () => {
    const path = `/v1/originators/${tenant.originatorId}`;
    const body = { email: 'new@example.com', phoneNumber: '+12125550123' };
    const reply = await call(path, { method: 'PATCH', body });
    expect(reply.body?.data).toMatchObject({ originatorId: tenant.originatorId, ...body });
    expect(itemsOf(await call('/v1/originators/'))).toMatchObject([body]);
    const cleared = { method: 'PATCH', body: { bankAccount: null, companyName: null } } as const;
    expect(issuesOf(await call(path, cleared))).toEqual([
      'bankAccount validation_required',
      'companyName validation_required',
    ]);
    const other = await gateway.createTenant();
    expect(codeOf(await call(path, { method: 'PATCH', body }, other))).toBe('404 NOT_FOUND');
  });
});

describe('contacts', () => {
  it('are created once, and a second creation is a conflict', async () => {
    const create = () => call('/v1/contacts', { method: 'POST', body: contactBody(tenant) });
    const reply = await create();
    expect(reply.status).toBe(201);
    expect(Object.keys(reply.body?.data as object)).toEqual(['contactId', 'createdAt']);
    expect(codeOf(await create())).toBe('409 CONFLICT');
    expect(itemsOf(await call('/v1/contacts/'))).toHaveLength(1);
  });

  it('need an originator of the organization', async () => {
    const other = await gateway.createTenant();
    for (const originatorId of [randomUUID(), other.originatorId]) {
      const body = contactBody(tenant, { originatorId });
      expect(codeOf(await call('/v1/contacts/', { method: 'POST', body }))).toBe('404 NOT_FOUND');
    }
  });

  it('report every problem of the request at once', async () => {
    const body = contactBody(tenant, { email: undefined, firstName: '', phoneNumber: '555' });
    const reply = await call('/v1/contacts/', { method: 'POST', body });
    expect(issuesOf(reply)).toEqual([
      'firstName validation_min_length',
      'email validation_required',
      'phoneNumber validation_phone_number',
    ]);
    expect(issuesOf(await call('/v1/contacts/', { method: 'POST' }))).toContain(
      'email validation_required',
    );
  });

  it('show a change at once, in the answer and in the list', async () => {
    const contactId = await createContact(gateway, tenant);
    const body = { lastName: 'King', bankAccount: null };
    const reply = await call(`/v1/contacts/${contactId}/`, { method: 'PATCH', body });
    expect(reply.body?.data).toMatchObject({ contactId, firstName: 'Ada', ...body });
    expect(itemsOf(await call('/v1/contacts/'))).toMatchObject([{ contactId, ...body }]);
  });

  it('of another organization are not found', async () => {
    const contactId = await createContact(gateway, tenant);
    const other = await gateway.createTenant();
    const patch = { method: 'PATCH', body: { lastName: 'King' } } as const;
    expect(codeOf(await call(`/v1/contacts/${contactId}`, patch, other))).toBe('404 NOT_FOUND');
    expect(codeOf(await call(`/v1/contacts/${randomUUID()}`, patch))).toBe('404 NOT_FOUND');
    expect(codeOf(await call('/v1/contacts/7', patch))).toBe('400 VALIDATION_ERROR');
    expect(itemsOf(await call('/v1/contacts/', {}, other))).toEqual([]);
  });

  it('are listed completely, or in pages on request, newest first', async () => {
    const created: string[] = [];
    for (let at = 0; at < 5; at += 1)
      created.push(await createContact(gateway, tenant, { email: `ada${at}@example.com` }));
    const whole = await call(`/v1/contacts/?originatorId=${tenant.originatorId}`);
    expect(whole.body?.meta).not.toHaveProperty('pagination');
    expect(new Set(itemsOf(whole).map((item) => item['contactId']))).toEqual(new Set(created));

    const first = await call('/v1/contacts/?limit=3');
    const cursor = first.body?.meta?.pagination?.nextCursor;
    const second = await call(`/v1/contacts/?limit=3&cursor=${cursor}`);
    expect(second.body?.meta?.pagination).toEqual({ limit: 3, nextCursor: null });
    expect([...itemsOf(first), ...itemsOf(second)]).toEqual(itemsOf(whole));
    expect(itemsOf(await call(`/v1/contacts/?originatorId=${randomUUID()}`))).toEqual([]);
    // A cursor of one list is not valid for another.
    expect(codeOf(await call(`/v1/payments/?cursor=${cursor}`))).toBe('400 VALIDATION_ERROR');
  });
});

describe('a complete list of many contacts', () => {
  const [first, count] = [100, 1_500];
  const organization = () => tenant.organizationId;

  /** Groups of 70 are of the same millisecond, also where one batch ends and the next begins. */
  const addMany = (pool: pg.Pool) =>
    pool.query(
      `INSERT INTO contacts (contact_id, organization_id, originator_id, created_at, revision, item)
        SELECT id, $1, $1, '2026-11-21T09:00:00Z'::timestamptz - (n / 70) * interval '1 ms', 0,
            json_build_object('contactId', id, 'email', 'old')
          FROM (SELECT gen_random_uuid() AS id, n FROM generate_series(1, $2::int) n) AS made`,
      [organization(), count],
    );
  const add = (pool: pg.Pool) =>
    pool.query(
      `INSERT INTO contacts (contact_id, organization_id, originator_id, created_at, revision, item)
        VALUES ($1, $2, $2, now(), 0, '{}')`,
      [randomUUID(), organization()],
    );
  const change = (pool: pg.Pool) =>
    pool.query(
      `UPDATE contacts SET item = jsonb_set(item::jsonb, '{email}', '"new"')::json
        WHERE organization_id = $1`,
      [organization()],
    );
  const erase = (pool: pg.Pool, ids: readonly string[]) =>
    pool.query('UPDATE contacts SET erased_at = now() WHERE contact_id = ANY($1::uuid[])', [ids]);

  it('has each once, whatever is created, changed or erased while it is read', async () => {
    const pool = gateway.app.get<pg.Pool>(PG_POOL);
    await addMany(pool);
    const { rows } = await pool.query<{ readonly id: string }>(
      `SELECT contact_id AS id FROM contacts WHERE organization_id = $1
        ORDER BY created_at DESC, contact_id DESC`,
      [organization()],
    );
    const ids = rows.map(({ id }) => id);
    // On the first page, which is read by then, and on the last one.
    const [shown, last] = [ids.slice(first - 3, first), ids.slice(-3)];
    const query = pool.query.bind(pool) as (...asked: unknown[]) => Promise<pg.QueryResult>;
    let reads = 0;
    pool.query = (async (...asked: unknown[]) => {
      const text = JSON.stringify(asked);
      const isList = text.includes('SELECT') && text.includes(organization());
      if (!isList || !text.includes('contacts')) return query(...asked);
      reads += 1;
      const result = await query(...asked);
      pool.query = query as typeof pool.query;
      await add(pool);
      await change(pool);
      if (reads === 1) await erase(pool, [...shown, ...last]);
      pool.query = reading;
      return result;
    }) as typeof pool.query;
    const reading = pool.query;
    try {
      const list = itemsOf(await call('/v1/contacts/'));
      expect(list.map(({ contactId }) => contactId)).toEqual(ids.slice(0, -last.length));
      expect(list.map(({ email }) => email)).toEqual(
        list.map((_, index) => (index < first ? 'old' : 'new')),
      );
      expect(reads).toBeGreaterThan(2);
    } finally {
      pool.query = query as typeof pool.query;
    }
  });
});

describe('webhook endpoints', () => {
  const endpoint = { url: 'https://203.0.113.7/hooks', subscribedEvents: ['payment.*'] };
  const create = (overrides: object = {}) =>
    call('/v1/webhooks', { method: 'POST', body: { ...endpoint, ...overrides } });
  const idIn = (reply: Reply) => (reply.body?.data as { id: string }).id;

  it('show their secret once, and keep it sealed', async () => {
    const reply = await create({ label: 'main' });
    expect(reply.status).toBe(201);
    const { secret, ...shown } = reply.body?.data as Record<string, string>;
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(shown).toEqual({
      id: idIn(reply),
      ...endpoint,
      label: 'main',
      enabled: true,
      health: 'healthy',
      failingSince: null,
      createdAt: expect.any(String) as string,
      updatedAt: expect.any(String) as string,
    });
    expect(itemsOf(await call('/v1/webhooks/'))).toEqual([shown]);
    expect((await call(`/v1/webhooks/${idIn(reply)}`)).body?.data).toEqual(shown);

    const { state } = await repository(gateway.store, webhookEndpoints).load(tenant.organizationId);
    const sealed = state.endpoints[0]?.sealedSecret ?? '';
    expect(await keyring.open(sealed, `webhookEndpoint:${idIn(reply)}`)).toBe(secret);
    expect(JSON.stringify((await gateway.store.readLog({ after: '' })).events)).not.toContain(
      secret,
    );
  });

  it('are changed field by field and deleted', async () => {
    const path = `/v1/webhooks/${idIn(await create({ label: 'main' }))}`;
    const patch = (body: object) => call(path, { method: 'PATCH', body });
    expect((await patch({ enabled: false })).body?.data).toMatchObject({
      enabled: false,
      ...endpoint,
    });
    expect((await patch({ label: null, subscribedEvents: [] })).body?.data).toMatchObject({
      label: null,
      subscribedEvents: [],
      enabled: false,
    });
    expect(issuesOf(await patch({ url: 'http://203.0.113.7/' }))).toEqual([
      'url validation_url_https',
    ]);
    const deleted = await call(path, { method: 'DELETE' });
    expect([deleted.status, deleted.body]).toEqual([204, null]);
    for (const method of ['GET', 'DELETE'] as const)
      expect(codeOf(await call(path, { method }))).toBe('404 NOT_FOUND');
    expect(itemsOf(await call('/v1/webhooks'))).toEqual([]);
  });

  it('of another organization are not found', async () => {
    const path = `/v1/webhooks/${idIn(await create())}`;
    const other = await gateway.createTenant();
    expect(codeOf(await call(path, {}, other))).toBe('404 NOT_FOUND');
    expect(codeOf(await call(path, { method: 'DELETE' }, other))).toBe('404 NOT_FOUND');
    expect(codeOf(await call(path, { method: 'PATCH', body: {} }, other))).toBe('404 NOT_FOUND');
    expect((await call(path)).status).toBe(200);
  });

  it.each([
    ['http://203.0.113.7/', 'validation_url_https'],
    ['nonsense', 'validation_url'],
    ['https://me:pw@203.0.113.7/', 'validation_url_credentials'],
    ['https://127.0.0.1/', 'validation_url_private_address'],
    ['https://[::1]/', 'validation_url_private_address'],
    ['https://2130706433/', 'validation_url_private_address'],
    ['https://localhost/', 'validation_url_private_address'],
    ['', 'validation_min_length'],
  ])('refuse the URL %s', async (url, issue) => {
    expect(issuesOf(await create({ url, subscribedEvents: ['*'] }))?.sort()).toEqual([
      'subscribedEvents.0 validation_event_type',
      `url ${issue}`,
    ]);
  });

  it('are at most five per event type, also under concurrent requests, disabled ones included', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => create()));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = replies.find(({ status }) => status !== 201);
    expect(refused && issuesOf(refused)).toEqual([
      'subscribedEvents validation_subscription_limit',
    ]);
    const [{ id }] = itemsOf(await call('/v1/webhooks')) as [{ id: string }];
    await call(`/v1/webhooks/${id}`, { method: 'PATCH', body: { enabled: false } });
    expect(codeOf(await create())).toBe('400 VALIDATION_ERROR');
    expect((await create({ subscribedEvents: ['statement.generated'] })).status).toBe(201);
    await call(`/v1/webhooks/${id}`, { method: 'DELETE' });
    expect((await create()).status).toBe(201);
  });
});

describe('statements', () => {
  it('are an empty list while none are generated', async () => {
    for (const query of ['', `?year=2026&originatorId=${tenant.originatorId}`, '?unknown=1']) {
      const reply = await call(`/v1/statements${query}`);
      expect([reply.status, reply.body?.data]).toEqual([200, []]);
      expect(reply.body?.meta?.timestamp).toEqual(expect.any(String));
    }
    for (const path of [randomUUID(), `${randomUUID()}/pdf`])
      expect(codeOf(await call(`/v1/statements/${path}`))).toBe('404 NOT_FOUND');
    expect(issuesOf(await call('/v1/statements/nonsense'))).toEqual([
      'statementId validation_uuid',
    ]);
    expect(issuesOf(await call('/v1/statements?year=x&originatorId=x'))).toEqual([
      'originatorId validation_uuid',
      'year validation_integer',
    ]);
    const { webhook_admin, read_only } = tenant.keys;
    expect((await call('/v1/statements', { key: webhook_admin })).status).toBe(403);
    expect((await call('/v1/statements/', { key: read_only })).status).toBe(200);
  });
});
