import { PisClient, type PaymentFilter } from './index.js';
import { type ScriptedServer, startScriptedServer } from './testing/scripted-server.js';

let server: ScriptedServer;
let client: PisClient;

beforeEach(async () => {
  server = await startScriptedServer();
  const delay = () => Promise.resolve();
  client = new PisClient({ baseUrl: server.url, apiKey: 'pis_test_key', delay });
});
afterEach(() => server.close());

function page(ids: readonly string[], nextCursor: string | null) {
  const data = ids.map((paymentId) => ({ paymentId }));
  return { body: { data, meta: { pagination: { limit: ids.length, nextCursor } } } };
}

describe('Every operation sends the request of the specification', () => {
  const data = { id: 'x' };
  const operations: [string, string, () => Promise<unknown>][] = [
    ['GET', '/v1/originators/', () => client.originators.page()],
    [
      'PATCH',
      '/v1/originators/o1',
      () => client.originators.update('o1', { email: 'a@b.example' }),
    ],
    [
      'POST',
      '/v1/contacts/',
      () =>
        client.contacts.create({
          originatorId: 'o1',
          entityType: 'BUSINESS',
          companyName: 'Example Inc',
          email: 'a@b.example',
        }),
    ],
    ['GET', '/v1/contacts/', () => client.contacts.page()],
    ['PATCH', '/v1/contacts/c1', () => client.contacts.update('c1', { phoneNumber: null })],
    ['GET', '/v1/payments/p1', () => client.payments.get('p1')],
    ['GET', '/v1/payments/', () => client.payments.page()],
    [
      'POST',
      '/v1/webhooks',
      () => client.webhooks.create({ url: 'https://h.example/', subscribedEvents: ['payment.*'] }),
    ],
    ['GET', '/v1/webhooks', () => client.webhooks.list()],
    ['GET', '/v1/webhooks/e1', () => client.webhooks.get('e1')],
    ['PATCH', '/v1/webhooks/e1', () => client.webhooks.update('e1', { label: null })],
    ['POST', '/v1/webhooks/e1/test', () => client.webhooks.test('e1')],
    ['GET', '/v1/statements', () => client.statements.list()],
    ['GET', '/v1/statements/s1', () => client.statements.get('s1')],
    [
      'POST',
      '/v1/sandbox/payments/p1/simulate',
      () => client.sandbox.simulate('p1', { outcome: 'complete' }),
    ],
  ];

  it.each(operations)('%s %s', async (method, path, call) => {
    server.answers({ body: { data, meta: {} } });
    const result = await call();
    expect(server.requests).toMatchObject([{ method, path }]);
    expect(result).toEqual(
      path.endsWith('s/') && method === 'GET' ? { data, nextCursor: null } : data,
    );
  });

  it('DELETE /v1/webhooks/e1, whose answer is empty', async () => {
    server.answers({ status: 204 });
    expect(await client.webhooks.delete('e1')).toBeUndefined();
    expect(server.requests).toMatchObject([{ method: 'DELETE', path: '/v1/webhooks/e1' }]);
  });

  it('GET /v1/statements/s1/pdf, whose answer is no JSON', async () => {
    const pdf = { 'content-type': 'application/pdf' };
    server.answers({ headers: pdf, body: '%PDF-1.7 …' });
    const bytes = await client.statements.pdf('s1');
    expect(Buffer.from(bytes).toString()).toBe('%PDF-1.7 …');
    expect(server.requests).toMatchObject([{ method: 'GET', path: '/v1/statements/s1/pdf' }]);
    expect(server.requests[0]?.headers.accept).toBe('application/pdf, application/json');
  });

  it('an answer that is not the requested PDF is retried, and an error is reported', async () => {
    const found = { headers: { 'content-type': 'application/pdf' }, body: 'whole' };
    server.answers({ headers: { 'content-type': 'text/html' }, body: 'a proxy' }, found);
    expect(Buffer.from(await client.statements.pdf('s1')).toString()).toBe('whole');
    server.answers({ ...found, cut: 'in the answer' }, found);
    expect(Buffer.from(await client.statements.pdf('s1')).toString()).toBe('whole');
    server.answers({ status: 404, body: { error: { code: 'NOT_FOUND', message: 'none' } } });
    await expect(client.statements.pdf('s1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('statements are filtered by originator and year', async () => {
    server.answers({ body: { data: [] } });
    await client.statements.list({ originatorId: 'o1', year: 2026 });
    expect(server.requests[0]?.query.toString()).toBe('originatorId=o1&year=2026');
  });

  it('null is sent, to clear a field; undefined is not sent', async () => {
    server.answers({ body: { data } });
    await client.contacts.update('c1', { phoneNumber: null, email: undefined });
    expect(server.requests[0]?.body).toBe('{"phoneNumber":null}');
  });
});

describe('Deleting an endpoint', () => {
  const gone = { status: 404, body: { error: { code: 'NOT_FOUND', message: 'not found' } } };

  it('succeeds when an earlier attempt with a lost answer has deleted it', async () => {
    server.answers({ cut: 'before the answer' }, gone);
    await client.webhooks.delete('e1');
    expect(server.requests).toHaveLength(2);
  });

  it('reports an endpoint that does not exist', async () => {
    server.answers(gone);
    await expect(client.webhooks.delete('e1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('A list', () => {
  async function itemsOf<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of list) items.push(item);
    return items;
  }

  async function idsOf(list: AsyncIterable<{ readonly paymentId: string }>): Promise<string[]> {
    return (await itemsOf(list)).map(({ paymentId }) => paymentId);
  }

  it('has all items of all pages, each requested with the same filter', async () => {
    server.answers(page(['a', 'b'], 'c1'), page([], 'c2'), page(['c'], null));
    const filter: { -readonly [Name in keyof PaymentFilter]: PaymentFilter[Name] } = {
      status: 'COMPLETED',
      createdFrom: new Date('2026-11-01T00:00:00Z'),
    };
    const list = client.payments.list(filter, { pageSize: 2 });
    // Changing it under way would give undefined results.
    filter.status = 'FAILED';
    expect(await idsOf(list)).toEqual(['a', 'b', 'c']);
    const fixed = { limit: '2', status: 'COMPLETED', createdFrom: '2026-11-01T00:00:00.000Z' };
    expect(server.requests.map(({ query }) => Object.fromEntries(query))).toEqual([
      fixed,
      { ...fixed, cursor: 'c1' },
      { ...fixed, cursor: 'c2' },
    ]);
  });

  it('begins anew with every loop, and requests no page that is not needed', async () => {
    server.answers(page(['a', 'b'], 'c1'));
    const list = client.payments.list();
    const first = async () => {
      for await (const { paymentId } of list) return paymentId;
      return null;
    };
    expect([await first(), await first()]).toEqual(['a', 'a']);
    expect(server.requests.map(({ query }) => query.get('cursor'))).toEqual([null, null]);
    expect(server.requests[0]?.query.get('limit')).toBe('100');
  });

  it('continues after a page that failed once', async () => {
    const failed = { status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE', message: '' } } };
    server.answers(page(['a'], 'c1'), failed, page(['b'], null));
    expect(await idsOf(client.payments.list())).toEqual(['a', 'b']);
  });

  it('ends with an error when a page fails for good or the list does not advance', async () => {
    const malformed = { status: 400, body: { error: { code: 'VALIDATION_ERROR', message: '' } } };
    server.answers(page(['a'], 'c1'), malformed);
    await expect(idsOf(client.payments.list())).rejects.toMatchObject({ status: 400 });
    server.answers(page(['a'], 'c1'));
    await expect(idsOf(client.payments.list())).rejects.toThrow('makes no progress');
  });

  it('can be read page by page, with 20 items by default', async () => {
    server.answers(page(['a'], 'c1'), page(['b'], null));
    const first = await client.payments.page({ direction: 'INBOUND' });
    expect(first).toEqual({ data: [{ paymentId: 'a' }], nextCursor: 'c1' });
    const cursor = first.nextCursor ?? '';
    const second = await client.payments.page({ direction: 'INBOUND', limit: 5, cursor });
    expect(second.nextCursor).toBeNull();
    expect(server.requests.map(({ query }) => query.toString())).toEqual([
      'direction=INBOUND&limit=20',
      'direction=INBOUND&limit=5&cursor=c1',
    ]);
  });

  it('of contacts and of originators is paged in the same way', async () => {
    server.answers(page(['a'], null));
    await itemsOf(client.contacts.list({ originatorId: 'o1' }, { pageSize: 7 }));
    await itemsOf(client.originators.list({ pageSize: 7 }));
    expect(server.requests.map(({ path, query }) => `${path}?${query.toString()}`)).toEqual([
      '/v1/contacts/?originatorId=o1&limit=7',
      '/v1/originators/?limit=7',
    ]);
  });
});
