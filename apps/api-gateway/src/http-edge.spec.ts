/** Requests of clients that use HTTP in unusual ways, by accident or on purpose. */
import { once } from 'node:events';
import { type IncomingMessage, METHODS, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@pis/service-kit';
import { type Gateway, startGateway, type Tenant } from './testing/gateway.js';
import { exchange, openSocket, type RawAnswer } from './testing/raw-http.js';

let gateway: Gateway;
let tenant: Tenant;
let port: number;
const logged: unknown[] = [];
const record = (...entry: unknown[]) => void logged.push(entry);
const logger = { info: record, warn: record, error: record, debug: record } as unknown as Logger;

beforeAll(async () => {
  gateway = await startGateway({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    projects: false,
    logger,
  });
  tenant = await gateway.createTenant();
  await gateway.app.listen(0, '127.0.0.1');
  ({ port } = gateway.app.getHttpServer().address() as AddressInfo);
});
afterAll(() => gateway?.close());

const lines = (...parts: string[]) => [...parts, '', ''].join('\r\n');
const authorization = () => `Authorization: Bearer ${tenant.keys.full_access}`;
const last = ['Host: x', 'Connection: close'];
const codeOf = ({ status, body }: RawAnswer) =>
  `${status} ${(JSON.parse(body) as { error?: { code: string } }).error?.code ?? ''}`.trim();
/** The only answer on the connection. */
const ask = async (text: string) => {
  const [answer, ...more] = await exchange(port, text);
  if (answer === undefined || more.length > 0) throw new Error(`${1 + more.length} answers`);
  return answer;
};

describe('a method that a path does not have', () => {
  const methods = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method));

  it('is always 404 with the envelope', async () => {
    for (const method of [...methods, 'FOO', 'get'])
      for (const path of ['/v1/webhooks', '/v1/webhooks/', '*']) {
        const answer = await ask(lines(`${method} ${path} HTTP/1.1`, ...last, authorization()));
        expect([method, path, codeOf(answer)]).toEqual([method, path, '404 NOT_FOUND']);
      }
    const connect = 'CONNECT example.com:443 HTTP/1.1';
    const tunnel = await ask(lines(connect, 'Host: example.com', 'X-Request-Id: order-4711'));
    expect(codeOf(tunnel)).toBe('404 NOT_FOUND');
    expect(tunnel.headers['x-request-id']).toBe('order-4711');
  });
});

describe('an unusual request is served', () => {
  it.each([
    ['of HTTP/1.0', () => lines('GET /v1/webhooks HTTP/1.0', authorization())],
    ['whose target names the host', () => get('http://example.com/v1/webhooks')],
    ['that expects what nobody knows', () => get('/v1/webhooks', 'Expect: miracles')],
    ['that would rather have another protocol', () => get('/v1/webhooks', 'Upgrade: h2c')],
    ['with a fragment of nothing before it', () => `\r\n${get('/v1/webhooks/')}`],
  ])('%s', async (_what, text) => {
    const answer = await ask(text());
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([200, { data: [] }]);
  });

  const get = (target: string, ...headers: string[]) =>
    lines(`GET ${target} HTTP/1.1`, ...last, authorization(), ...headers);

  it('in parts, and after the server accepted the body (Expect: 100-continue)', async () => {
    const body = '{"url":"https://203.0.113.1/","subscribedEvents":["payment.failed"]}';
    const { socket, received, answers } = openSocket(port);
    socket.write(
      lines(
        'POST /v1/webhooks HTTP/1.1',
        ...last,
        authorization(),
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'Expect: 100-continue',
      ),
    );
    await new Promise((resolve) => socket.once('data', resolve));
    expect(received()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    for (const character of body) socket.write(character);
    const [, created] = await answers();
    expect(created?.status).toBe(201);
  });

  it('many at once on one connection, in order', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `request-${at}`);
    const requests = ids.map((id, at) =>
      lines(
        `GET ${at % 2 === 0 ? '/v1/webhooks' : '/nowhere'} HTTP/1.1`,
        'Host: x',
        authorization(),
        `X-Request-Id: ${id}`,
        ...(at === ids.length - 1 ? ['Connection: close'] : []),
      ),
    );
    const answers = await exchange(port, requests.join(''));
    expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(ids);
    expect(answers.map(({ status }) => status)).toEqual(
      ids.map((_, at) => (at % 2 === 0 ? 200 : 404)),
    );
  });
});

describe('an ambiguous request is refused, and the connection closed', () => {
  const post = (...headers: string[]) =>
    lines('POST /v1/webhooks HTTP/1.1', 'Host: x', authorization(), ...headers);
  const json = 'Content-Type: application/json';
  const chunked = 'Transfer-Encoding: chunked';

  it.each([
    ['nonsense', () => 'nonsense\r\n\r\n'],
    ['a TLS handshake', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['no Host', () => lines('GET /v1/webhooks HTTP/1.1', authorization())],
    ['two hosts', () => post('HOST: y')],
    ['two keys', () => post('authorization: Bearer pis_test_of_somebody_else')],
    ['two media types', () => `${post(json, 'Content-Type: text/plain', 'Content-Length: 2')}{}`],
    [
      'chunks of something else',
      () => `${post(json, 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
    ],
    ['two lengths', () => `${post(json, 'Content-Length: 2', 'Content-Length: 3')}{}`],
    ['a length and chunks', () => `${post(json, 'Content-Length: 2', chunked)}0\r\n\r\n`],
    ['a length that is none', () => `${post(json, 'Content-Length: +2')}{}`],
    ['chunks that are not last', () => `${post(json, `${chunked}, gzip`)}0\r\n\r\n`],
    ['a chunk without a size', () => `${post(json, chunked)}zz\r\n{}\r\n0\r\n\r\n`],
    ['a header without a name', () => post(': x')],
    ['a space before the colon', () => post('X-A : x')],
    ['a header over two lines', () => post('X-A: x\r\n y')],
    ['a NUL in a header', () => post('X-A: \0')],
    ['line feeds alone', () => 'GET / HTTP/1.1\nHost: x\n\n'],
    ['headers without end', () => post(`X-A: ${'x'.repeat(70_000)}`)],
    ['an endless target', () => lines(`GET /?${'x'.repeat(70_000)} HTTP/1.1`, ...last)],
  ])('%s', async (_what, text) => {
    const answer = await ask(text());
    expect(codeOf(answer)).toBe('400 VALIDATION_ERROR');
    expect(answer.headers).toMatchObject({
      connection: 'close',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
  });

  it('but only after the complete request before it has its answer', async () => {
    const body = '{"url":"https://203.0.113.2/","subscribedEvents":["payment.failed"]}';
    const request = `${post(json, `Content-Length: ${body.length}`)}${body}`;
    const answers = await exchange(port, `${request}nonsense\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([201, 400]);
  });

  it.each([
    ['a body breaks off', 400, () => `${post(json, chunked)}zz\r\n`],
    ['a tunnel is asked for', 404, () => lines('CONNECT example.com:443 HTTP/1.1', 'Host: x')],
    ['a refused body breaks off', 415, () => `${post(chunked)}zz\r\n`],
  ])('nor if after it %s', async (_what, refusal, behind) => {
    const body = `{"url":"https://203.0.113.2/${refusal}","subscribedEvents":["payment.failed"]}`;
    const request = `${post(json, `Content-Length: ${body.length}`)}${body}`;
    const answers = await exchange(port, `${request}${behind()}`);
    expect(answers.map(({ status }) => status)).toEqual([201, refusal]);
  });
});

describe('a request id', () => {
  it('is the caller’s even if the request reached no route', async () => {
    for (const target of ['/v1/%ff', '/v1/payments/%zz']) {
      const answer = await ask(
        lines(`GET ${target} HTTP/1.1`, ...last, 'X-Request-Id: order-4711'),
      );
      expect([answer.status, answer.headers['x-request-id']]).toEqual([404, 'order-4711']);
    }
    const without = await ask(lines('GET /v1/%ff HTTP/1.1', ...last, 'X-Request-Id: <x>'));
    expect(without.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('a log line', () => {
  it('tells of no failure when a client goes away while it sends its body', async () => {
    await ask(lines('GET /v1/webhooks HTTP/1.1', ...last, authorization()));
    logged.length = 0;
    const server = gateway.app.getHttpServer() as Server;
    const arrived = once(server, 'request') as Promise<[IncomingMessage]>;
    const { socket } = openSocket(port);
    const json = ['Content-Type: application/json', 'Content-Length: 100'];
    socket.write(`${lines('POST /v1/webhooks HTTP/1.1', 'Host: x', authorization(), ...json)}{`);
    const [request] = await arrived;
    const ended = new Promise((resolve) => request.once('close', resolve));
    socket.destroy();
    await ended;
    await turn();
    expect(request.errored).toMatchObject({ code: 'ECONNRESET' });
    expect(logged).toEqual([[expect.objectContaining({ status: 400 }), 'broken request']]);
  });

  it('exists for each of these requests, and contains none of their content', async () => {
    logged.length = 0;
    await ask(lines('GET /v1/%ff?token=secret-query HTTP/1.1', ...last, 'X-A: secret-header'));
    await ask(`secret-nonsense\r\n\r\n`);
    await ask(lines('GET /v1/webhooks?token=secret-query HTTP/1.1', ...last, authorization()));
    await ask(lines('GET /v1/payments/secret-id HTTP/1.1', ...last, authorization()));
    await ask(lines('GET /v1/secret-place/secret-id HTTP/1.1', ...last, authorization()));
    await ask('GET /secret-place HTTP/1.1\r\nConnection: close\r\n\r\n');
    const body = '{"secret-body": "Authorization"}';
    await ask(
      lines(
        'POST /v1/payments/ HTTP/1.1',
        ...last,
        authorization(),
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'Idempotency-Key: secret-idempotency-key',
      ) + body,
    );
    const text = JSON.stringify(logged);
    const about = logged.map((line) => (line as readonly unknown[]).at(-1));
    expect(about.filter((what) => what === 'request')).toHaveLength(6);
    expect(about.filter((what) => what === 'broken request')).toHaveLength(1);
    expect(text).not.toMatch(/secret|nonsense/);
    expect(text).not.toContain(tenant.keys.full_access);
    for (const status of [404, 400, 200]) expect(text).toContain(`"status":${status}`);
  });

  it('names the record that a request is about by its ID', async () => {
    logged.length = 0;
    const id = '0190f5c2-7a4e-4d1b-9c3f-2b6a8d4e1f70';
    await ask(lines(`GET /v1/payments/${id}/ HTTP/1.1`, ...last, authorization()));
    await ask(lines('GET /v1/payments/nonsense HTTP/1.1', ...last, authorization()));
    const paths = logged.map((line) => (line as readonly [{ path?: unknown }])[0].path);
    expect(paths).toEqual([`/v1/payments/${id}`, '/v1/payments/:paymentId']);
  });
});
