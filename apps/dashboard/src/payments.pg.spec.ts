import { randomUUID } from 'node:crypto';
import { readPauses, resumeConnection } from '@pis/bank-rails/connections';
import { projections } from '@pis/read-models';
import { type Board, type BoardReply, startBoard } from './testing/board.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard({ projections: Object.values(projections) });
});
afterAll(() => board?.close());

const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
};

/** An organization with an originator, and a caller for each role. */
async function tenant() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const cookieOf = async (role: 'viewer' | 'operator' | 'admin') =>
    board.signedIn(await board.newUser(role, organizationId));
  const [viewer, operator, admin] = [
    await cookieOf('viewer'),
    await cookieOf('operator'),
    await cookieOf('admin'),
  ];
  return { organizationId, originatorId, viewer, operator, admin };
}
const get = (path: string, cookie: string) => board.call(path, { cookie });
const send = (method: 'POST' | 'PATCH', path: string, cookie: string, body?: unknown) =>
  board.call(path, { method, cookie, ...(body === undefined ? {} : { body }) });
const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

const requestOf = (originatorId: string) => ({
  originatorId,
  direction: 'INBOUND',
  recipient: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
  paymentAmount: 10_000,
  idempotencyKey: randomUUID(),
});

interface Created {
  readonly paymentId: string;
  readonly status: string;
}

describe('a payment by link', () => {
  it('is created once, listed, shown with who did what, and canceled', async () => {
    const { originatorId, operator, viewer } = await tenant();
    const request = requestOf(originatorId);
    const created = dataOf<Created>(await send('POST', '/payments', operator, request));
    expect(created).toEqual({
      paymentId: expect.any(String) as unknown,
      status: 'AWAITING_CONFIRMATION',
    });
    const repeated = await send('POST', '/payments', operator, request);
    expect(dataOf(repeated)).toEqual(created);
    expect(repeated.text).not.toContain('/pay/');

    const { paymentId } = created;
    const list = await get('/payments?status=AWAITING_CONFIRMATION', viewer);
    expect(dataOf<Created[]>(list).map((one) => one.paymentId)).toEqual([paymentId]);

    const page = dataOf<Record<string, unknown>>(await get(`/payments/${paymentId}`, viewer));
    expect(page).toMatchObject({
      payment: { paymentId, status: 'AWAITING_CONFIRMATION', contact: null },
      timeline: [
        {
          type: 'PaymentAwaitingConfirmation',
          status: 'AWAITING_CONFIRMATION',
          actor: expect.stringMatching(/^user:/) as unknown,
          actorEmail: expect.stringMatching(/^operator-/) as unknown,
        },
      ],
      link: {
        state: 'open',
        payerFee: 35,
        holder: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
        accesses: [],
      },
      deliveries: [],
    });
    expect(JSON.stringify(page)).not.toContain('/pay/');

    const shown = await send('POST', `/payments/${paymentId}/link`, operator);
    expect(dataOf(shown)).toEqual({
      url: expect.stringMatching(/^http:\/\/board\.example\/pay\/[\w-]{43}$/) as unknown,
      qrCode: expect.stringMatching(/^<svg /) as unknown,
    });
    const canceled = await send('POST', `/payments/${paymentId}/cancel`, operator);
    expect(dataOf(canceled)).toMatchObject({ status: 'CANCELED' });
    const after = dataOf<Record<string, unknown>>(await get(`/payments/${paymentId}`, viewer));
    expect(after).toMatchObject({
      link: { state: 'canceled', accesses: [{ kind: 'show', visitor: null }] },
    });
    expect((await send('POST', `/payments/${paymentId}/link`, operator)).status).toBe(404);
  });

  it('is not canceled after a failover before its operator has compared with the bank', async () => {
    const { originatorId, operator } = await tenant();
    const create = async () =>
      dataOf<Created>(await send('POST', '/payments', operator, requestOf(originatorId))).paymentId;
    const cancel = (paymentId: string) => send('POST', `/payments/${paymentId}/cancel`, operator);
    const paymentId = await create();
    await readPauses(board.pool, ['bank']);
    await board.pool.query("UPDATE rail_connections SET identity = 'lost'");
    await readPauses(board.pool, ['bank']);
    const refused = await cancel(paymentId);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('a bank may have the payment');
    expect((await cancel(await create())).status).toBe(200);
    await resumeConnection(board.pool, 'bank');
    expect((await cancel(paymentId)).status).toBe(200);
  });

  it('is marked in the list once its link has expired, as long as it waits', async () => {
    const { originatorId, operator, viewer } = await tenant();
    const [fresh, old, canceled] = [
      dataOf<Created>(await send('POST', '/payments', operator, requestOf(originatorId))),
      dataOf<Created>(await send('POST', '/payments', operator, requestOf(originatorId))),
      dataOf<Created>(await send('POST', '/payments', operator, requestOf(originatorId))),
    ].map(({ paymentId }) => paymentId);
    await send('POST', `/payments/${canceled}/cancel`, operator);
    const marks = async () => {
      const list = dataOf<(Created & { linkExpired: boolean })[]>(await get('/payments', viewer));
      return new Map(list.map(({ paymentId, linkExpired }) => [paymentId, linkExpired]));
    };
    expect([...(await marks()).values()]).toEqual([false, false, false]);
    const createdAt = new Date(Date.now() - 30 * 86_400_000).toISOString();
    await board.pool.query(
      `UPDATE payments SET item = jsonb_set(item::jsonb, '{createdAt}', to_jsonb($2::text))::json
       WHERE payment_id = ANY ($1::uuid[])`,
      [[old, canceled], createdAt],
    );
    const after = await marks();
    expect([fresh, old, canceled].map((id) => after.get(id ?? ''))).toEqual([false, true, false]);
  });

  it('shows at each event the trace of the request that made it', async () => {
    const { originatorId, operator, viewer } = await tenant();
    const traced = (path: string, traceId: string, body?: unknown) =>
      board.call(path, {
        ...{ method: 'POST', cookie: operator, body },
        headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
      });
    const traceIds = ['4bf92f3577b34da6a3ce929d0e0e4736', '0af7651916cd43dd8448eb211c80319c'];
    const [creation = '', cancellation = ''] = traceIds;
    const created = await traced('/payments', creation, requestOf(originatorId));
    const { paymentId } = dataOf<Created>(created);
    dataOf(await traced(`/payments/${paymentId}/cancel`, cancellation));
    const { timeline } = dataOf<{ timeline: { traceId: string | null }[] }>(
      await get(`/payments/${paymentId}`, viewer),
    );
    expect(timeline.map(({ traceId }) => traceId)).toEqual(traceIds);

    const untraced = await send('POST', '/payments', operator, requestOf(originatorId));
    const other = dataOf<{ timeline: object[] }>(
      await get(`/payments/${dataOf<Created>(untraced).paymentId}`, viewer),
    );
    expect(other.timeline).toMatchObject([{ traceId: null }]);
  });

  it.each([
    ['/payments', { originatorId: undefined }, 'originatorId'],
    ['/payments', { paymentAmount: -1 }, 'paymentAmount'],
    ['/payments', { recipient: { contactId: 'x' } }, 'recipient.contactId'],
    ['/payments', { idempotencyKey: '' }, 'idempotencyKey'],
  ])('to %s with %j names the field', async (path, change, field) => {
    const { originatorId, operator } = await tenant();
    const body = { ...requestOf(originatorId), ...change };
    const reply = await send('POST', path, operator, body);
    expect(reply.status).toBe(400);
    expect(reply.body.error?.details?.map((one) => one.field)).toEqual([field]);
  });
});

it('contacts and originators are listed and changed', async () => {
  const { originatorId, operator, admin, viewer } = await tenant();
  const created = await send('POST', '/contacts', operator, {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    ...{ email: 'ada@example.com', bankAccount },
  });
  const { contactId } = dataOf<{ contactId: string }>(created);
  const renamed = await send('PATCH', `/contacts/${contactId}`, operator, { firstName: 'Augusta' });
  expect(dataOf(renamed)).toMatchObject({ contactId, firstName: 'Augusta' });
  expect(dataOf<unknown[]>(await get('/contacts', viewer))).toMatchObject([
    { contactId, firstName: 'Augusta', bankAccount: { achAccountNumber: '********6789' } },
  ]);
  const direct = dataOf<Created>(
    await send('POST', '/payments', operator, {
      ...requestOf(originatorId),
      ...{ direction: 'OUTBOUND', recipient: { contactId } },
    }),
  );
  expect(direct).toEqual({ paymentId: expect.any(String) as unknown, status: 'QUEUED' });

  const path = `/originators/${originatorId}`;
  const change = { email: 'new@originator.example' };
  expect((await send('PATCH', path, operator, change)).status).toBe(403);
  expect(dataOf(await send('PATCH', path, admin, change))).toMatchObject(change);
  expect(dataOf<unknown[]>(await get('/originators?limit=1', viewer))).toMatchObject([change]);
});

it('API keys are created, shown once, listed and revoked', async () => {
  const { admin } = await tenant();
  const created = dataOf<{ apiKeyId: string; apiKey: string }>(
    await send('POST', '/api-keys', admin, { type: 'read_only' }),
  );
  expect(created.apiKey).toMatch(/^pis_test_[\w-]{43}$/);
  const list = await get('/api-keys', admin);
  expect(list.text).not.toContain(created.apiKey);
  const { apiKeyId } = created;
  expect(dataOf(list)).toMatchObject([{ apiKeyId, type: 'read_only', revokedAt: null }]);
  expect((await send('POST', `/api-keys/${apiKeyId}/revoke`, admin)).status).toBe(200);
  expect(dataOf(await get('/api-keys', admin))).toMatchObject([
    { apiKeyId, revokedAt: expect.any(String) as unknown },
  ]);
  const past = { type: 'read_only', expiresAt: '2020-01-01' };
  const refused = await send('POST', '/api-keys', admin, past);
  expect([refused.status, refused.body.error?.details?.[0]?.field]).toEqual([400, 'expiresAt']);
});

it('users are created, changed, disabled and reset by another administrator', async () => {
  const { admin, organizationId } = await tenant();
  const email = `new-${randomUUID()}@board.example`;
  const created = dataOf<{ userId: string; password: string }>(
    await send('POST', '/users', admin, { email, role: 'viewer' }),
  );
  const again = await send('POST', '/users', admin, { email, role: 'viewer' });
  expect(again.status).toBe(409);
  const signIn = (password: string) =>
    board.call('/sign-in', { method: 'POST', body: { email, password } });
  expect((await signIn(created.password)).status).toBe(200);
  const path = `/users/${created.userId}`;
  expect((await send('POST', `${path}/role`, admin, { role: 'approver' })).status).toBe(200);
  const users = dataOf<{ userId: string; role: string }[]>(await get('/users', admin));
  expect(users.find(({ userId }) => userId === created.userId)?.role).toBe('approver');
  expect((await send('POST', `${path}/disable`, admin)).status).toBe(200);
  expect((await signIn(created.password)).status).toBe(401);
  expect((await send('POST', `${path}/enable`, admin)).status).toBe(200);
  const reset = dataOf<{ password: string }>(await send('POST', `${path}/reset`, admin));
  expect((await signIn(created.password)).status).toBe(401);
  expect((await signIn(reset.password)).status).toBe(200);

  const own = await board.newUser('admin', organizationId);
  const cookie = await board.signedIn(own);
  for (const action of ['disable', 'reset'])
    expect((await send('POST', `/users/${own.userId}/${action}`, cookie)).status).toBe(409);
  const demoted = await send('POST', `/users/${own.userId}/role`, cookie, { role: 'viewer' });
  expect(demoted.status).toBe(409);
});

it('webhook endpoints are created with their secret, changed and deleted by administrators', async () => {
  const { admin, operator, viewer } = await tenant();
  const body = { url: 'https://203.0.113.7/hook', subscribedEvents: ['payment.completed'] };
  expect((await send('POST', '/webhooks', operator, body)).status).toBe(403);
  const created = dataOf<{ id: string; secret: string }>(
    await send('POST', '/webhooks', admin, body),
  );
  expect(created.secret).toMatch(/^\w{32,}$/);
  const path = `/webhooks/${created.id}`;
  const changed = await send('PATCH', path, admin, { enabled: false });
  expect(dataOf(changed)).toMatchObject({ id: created.id, enabled: false });
  const list = await get('/webhooks', viewer);
  expect(dataOf(list)).toMatchObject([{ id: created.id, health: 'healthy' }]);
  expect(list.text).not.toContain(created.secret);
  expect(dataOf(await get(`${path}/deliveries`, viewer))).toEqual([]);
  const other = await tenant();
  expect((await get(`${path}/deliveries`, other.admin)).status).toBe(404);
  expect((await send('PATCH', path, other.admin, { enabled: true })).status).toBe(404);
  const unknown = `/deliveries/${randomUUID()}`;
  expect((await get(unknown, viewer)).status).toBe(404);
  expect((await send('POST', `${unknown}/redeliver`, operator)).status).toBe(404);
  const remove = (cookie: string) => board.call(path, { method: 'DELETE', cookie });
  expect([(await remove(other.admin)).status, (await remove(admin)).status]).toEqual([404, 200]);
  expect(dataOf(await get('/webhooks', viewer))).toEqual([]);
});

it("another organization's records read as not found, and its lists are empty", async () => {
  const mine = await tenant();
  const theirs = await tenant();
  const created = await send('POST', '/payments', mine.operator, requestOf(mine.originatorId));
  const { paymentId } = dataOf<Created>(created);
  const contact = await send('POST', '/contacts', mine.operator, {
    ...{ originatorId: mine.originatorId, entityType: 'BUSINESS', companyName: 'Acme' },
    email: 'pay@acme.example',
  });
  const { contactId } = dataOf<{ contactId: string }>(contact);
  const key = await send('POST', '/api-keys', mine.admin, { type: 'read_only' });
  const { apiKeyId } = dataOf<{ apiKeyId: string }>(key);
  const user = await board.newUser('viewer', mine.organizationId);
  const foreign: [string, BoardReply][] = [];
  const attempt = async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) =>
    foreign.push([
      `${method} ${path}`,
      method === 'GET'
        ? await get(path, theirs.admin)
        : await send(method, path, theirs.admin, body ?? {}),
    ]);
  await attempt('GET', `/payments/${paymentId}`);
  await attempt('POST', `/payments/${paymentId}/cancel`);
  await attempt('POST', `/payments/${paymentId}/link`);
  await attempt('POST', `/payments/${paymentId}/simulate`, { outcome: 'complete' });
  await attempt('PATCH', `/contacts/${contactId}`, { firstName: 'Eve' });
  await attempt('PATCH', `/originators/${mine.originatorId}`, { email: 'eve@example.com' });
  await attempt('POST', `/api-keys/${apiKeyId}/revoke`);
  await attempt('POST', `/users/${user.userId}/role`, { role: 'admin' });
  for (const action of ['disable', 'enable', 'reset'])
    await attempt('POST', `/users/${user.userId}/${action}`);
  await attempt('POST', '/payments', requestOf(mine.originatorId));
  await attempt('POST', '/contacts', {
    ...{ originatorId: mine.originatorId, entityType: 'BUSINESS', companyName: 'Eve' },
    email: 'eve@example.com',
  });
  expect(foreign.map(([what, { status }]) => [what, status])).toEqual(
    foreign.map(([what]) => [what, 404]),
  );
  for (const list of ['/payments', '/contacts', '/api-keys'])
    expect(dataOf(await get(list, theirs.admin))).toEqual([]);
  expect((await get(`/payments/${paymentId}`, mine.viewer)).status).toBe(200);
});
