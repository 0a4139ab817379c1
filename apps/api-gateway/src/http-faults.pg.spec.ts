/** Requests while the gateway shuts down, or while a dependency is unavailable. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { contactBody, type Reply, startGateway } from './testing/gateway.js';

const timeoutMs = 20_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const codeOf = (reply: Reply) => `${reply.status} ${reply.body?.error?.code ?? ''}`.trim();

describe('when it shuts down', () => {
  it('answers requests under way, and 503 to new ones', async () => {
    const memory = memoryEventStore();
    let asked: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (asked = resolve));
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const readStream: EventStore['readStream'] = async (streamId, options) => {
      if (streamId.startsWith('webhookEndpoints-')) {
        asked();
        await released;
      }
      return memory.readStream(streamId, options);
    };
    const store = { ...memory, readStream };
    const own = await startGateway({ databaseUrl: database.url, store, projects: false });
    const theirs = await own.createTenant();
    await own.app.listen(0, '127.0.0.1');
    const { port } = own.app.getHttpServer().address() as AddressInfo;
    const request = [
      'GET /v1/webhooks HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${theirs.keys.full_access}`,
      '\r\n',
    ].join('\r\n');

    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.write(request);
    await reached;
    const closed = own.close();
    await until(() => !own.app.getHttpServer().listening, { timeoutMs });
    own.app.getHttpServer().once('request', () => release());
    socket.write(request);
    await Promise.all([once(socket, 'close'), closed]);
    expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\n/);
    const second = received.slice(received.lastIndexOf('HTTP/1.1 '));
    expect(second).toMatch(/^HTTP\/1\.1 503 /);
    expect(second).toMatch(/retry-after: 1/i);
    expect(second).toMatch(/"error":\{"code":"SERVICE_UNAVAILABLE"/);
  });
});

describe('when something is away', () => {
  const failing = (error: () => Error | null): EventStore => {
    const store = memoryEventStore();
    const guard =
      <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        const failure = error();
        if (failure) throw failure;
        return work(...args);
      };
    return {
      ...store,
      append: guard(store.append),
      readStream: guard(store.readStream),
      readStreams: guard(store.readStreams),
    };
  };

  it('the event store: 503 with Retry-After, nothing is created, and it recovers by itself', async () => {
    let failure: Error | null = null;
    const store = failing(() => failure);
    const own = await startGateway({ databaseUrl: database.url, store, projects: false });
    try {
      const theirs = await own.createTenant();
      const create = () =>
        own.call('/v1/contacts/', { tenant: theirs, method: 'POST', body: contactBody(theirs) });
      failure = new StoreUnavailable('connection to 10.0.0.1 lost');
      const reply = await create();
      expect(codeOf(reply)).toBe('503 SERVICE_UNAVAILABLE');
      expect(reply.headers['retry-after']).toBe('1');
      expect(JSON.stringify(reply.body)).not.toContain('10.0.0.1');
      failure = null;
      expect(codeOf(await create())).toBe('201');
    } finally {
      await own.close();
    }
  });

  it('PostgreSQL: lists answer 503, payments can still be read', async () => {
    const own = await startGateway({
      databaseUrl: 'postgres://nobody@127.0.0.1:1/nothing',
      projects: false,
    });
    try {
      const theirs = await own.createTenant();
      for (const path of ['/v1/payments/', '/v1/contacts/', '/v1/originators/'])
        expect(codeOf(await own.call(path, { tenant: theirs }))).toBe('503 SERVICE_UNAVAILABLE');
      const path = `/v1/payments/${randomUUID()}`;
      expect(codeOf(await own.call(path, { tenant: theirs }))).toBe('404 NOT_FOUND');
    } finally {
      await own.close();
    }
  });

  it('an unexpected error: 500 without details', async () => {
    let failure: Error | null = null;
    const store = failing(() => failure);
    const own = await startGateway({ databaseUrl: database.url, store, projects: false });
    try {
      const theirs = await own.createTenant();
      failure = new TypeError('cannot read account 000123456789 of undefined');
      const reply = await own.call('/v1/webhooks', { tenant: theirs });
      expect(codeOf(reply)).toBe('500 INTERNAL_ERROR');
      expect(JSON.stringify(reply.body)).not.toMatch(/account|undefined|TypeError/);
    } finally {
      await own.close();
    }
  });
});

it('refuses commands, and answers reads, while the log lacks events that were read', async () => {
  let isShort = false;
  const gateway = await startGateway({
    databaseUrl: database.url,
    projects: false,
    checkLog: () => {
      if (isShort) throw new StoreUnavailable('the event log lacks events');
    },
  });
  try {
    const tenant = await gateway.createTenant();
    isShort = true;
    const body = contactBody(tenant);
    const refused = await gateway.call('/v1/contacts', { tenant, method: 'POST', body });
    expect(codeOf(refused)).toBe('503 SERVICE_UNAVAILABLE');
    expect(refused.headers['retry-after']).toBe('1');
    expect((await gateway.call('/v1/webhooks', { tenant })).status).toBe(200);
    isShort = false;
    const taken = await gateway.call('/v1/contacts', { tenant, method: 'POST', body });
    expect(taken.status).toBe(201);
  } finally {
    await gateway.close();
  }
});
