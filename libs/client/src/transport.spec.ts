import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import {
  PisAbortError,
  PisApiError,
  PisClient,
  type PisClientOptions,
  PisNetworkError,
  PisTimeoutError,
} from './index.js';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from './testing/scripted-server.js';

const apiKey = 'pis_test_0123456789abcdef';
const payment = {
  originatorId: '6f0c3a1e-0000-4000-8000-000000000001',
  contactId: '6f0c3a1e-0000-4000-8000-000000000002',
  paymentAmount: 12_345,
  direction: 'OUTBOUND',
} as const;
const endpoint = { url: 'https://hooks.example/pis', subscribedEvents: ['payment.*'] } as const;
const created = { status: 201, body: { data: { paymentId: 'p1' }, meta: {} } };
const replay = { ...created, headers: { 'Idempotent-Replayed': 'true' } };

let server: ScriptedServer;
/** Records the pauses between attempts instead of waiting. */
let pauses: number[];

beforeEach(async () => {
  server = await startScriptedServer();
  pauses = [];
});
afterEach(async () => {
  jest.useRealTimers();
  await server.close();
});

/** From now on the time limit of an attempt passes only when a test says so. */
const holdTimers = () => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'Date'] });

/** Lets the time limit of so many attempts pass, of each when the server has its request. */
async function exceed(timeoutMs: number, attempts: number): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await server.nextRequest();
    jest.advanceTimersByTime(timeoutMs);
  }
}

function client(options: Partial<PisClientOptions> = {}): PisClient {
  const delay = (ms: number) => Promise.resolve(pauses.push(ms));
  return new PisClient({ baseUrl: server.url, apiKey, delay, ...options });
}

function failure(status: number, code: string, more: ScriptedAnswer = {}): ScriptedAnswer {
  return { status, body: { error: { code, message: `it is ${code}` } }, ...more };
}

/** The error that a call must end with, of this class. */
async function refused<Kind extends Error>(
  call: Promise<unknown>,
  kind: abstract new (...args: never[]) => Kind,
): Promise<Kind> {
  const error: unknown = await call.then(
    (value) => new Error(`resolved with ${inspect(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof kind) return error;
  throw error;
}

describe('A request', () => {
  it('carries the key, its body as JSON and, for a payment, the Idempotency-Key', async () => {
    server.answers(created);
    const idempotencyKey = 'invoice-1042';
    expect(await client().payments.create(payment, { idempotencyKey })).toEqual({
      paymentId: 'p1',
      idempotencyKey,
      replayed: false,
    });
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/v1/payments/',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual(payment);
  });

  it('goes to the base address with its path, with or without a slash at its end', async () => {
    server.answers({ body: { data: [] } });
    for (const baseUrl of [`${server.url}/pis`, `${server.url}/pis/`])
      await client({ baseUrl }).webhooks.list();
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/pis/v1/webhooks',
      '/pis/v1/webhooks',
    ]);
  });

  it('sends an Idempotency-Key of any script, as UTF-8', async () => {
    server.answers(created);
    await client().payments.create(payment, { idempotencyKey: 'Rechnung-ä-💸' });
    const sent = String(server.requests[0]?.headers['idempotency-key']);
    expect(Buffer.from(sent, 'latin1').toString('utf8')).toBe('Rechnung-ä-💸');
  });

  it('gets a new key for each payment when none is given, and the result has it', async () => {
    server.answers(created);
    const first = await client().payments.create(payment);
    const second = await client().payments.create(payment);
    expect(first.idempotencyKey).not.toBe(second.idempotencyKey);
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
      first.idempotencyKey,
      second.idempotencyKey,
    ]);
  });

  it('sends an empty Idempotency-Key as it is, to be refused, rather than a random one', async () => {
    server.answers(failure(400, 'IDEMPOTENCY_KEY_REQUIRED'));
    const call = client().payments.create(payment, { idempotencyKey: '' });
    expect(await refused(call, PisApiError)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REQUIRED' });
    expect(server.requests[0]?.headers['idempotency-key'] ?? '').toBe('');
  });

  it('does not follow a redirect with the API key', async () => {
    server.answers({ status: 307, headers: { location: `${server.url}/elsewhere` } });
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({ status: 307, code: 'HTTP_307' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('A failure that may pass', () => {
  it.each<[string, ScriptedAnswer]>([
    ['500', failure(500, 'INTERNAL_ERROR')],
    ['503', failure(503, 'SERVICE_UNAVAILABLE')],
    ['a 502 of a proxy', { status: 502, body: '<html>Bad Gateway</html>' }],
    ['a connection that is cut', { cut: 'before the answer' }],
    ['an answer that is cut', { ...created, cut: 'in the answer' }],
    ['a 201 that is not the API’s', { status: 201, body: '<html>Welcome</html>' }],
    ['a 201 without data', { status: 201, body: {} }],
  ])('%s is tried again after 1, 2, 4 and 8 s, each time the same request', async (_, answer) => {
    server.answers(answer, answer, answer, answer, replay);
    const result = await client().payments.create(payment);
    expect(result).toMatchObject({ paymentId: 'p1', replayed: true });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(server.requests).toHaveLength(5);
    const sent = server.requests.map(({ body, headers }) => [body, headers['idempotency-key']]);
    expect(new Set(sent.map((part) => JSON.stringify(part))).size).toBe(1);
  });

  it('is an error after five attempts, and the error has the key for a repetition', async () => {
    server.answers(failure(500, 'INTERNAL_ERROR'));
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({ status: 500, code: 'INTERNAL_ERROR', attempts: 5 });
    expect(error.idempotencyKey).toBe(server.requests[4]?.headers['idempotency-key']);
    expect(server.requests).toHaveLength(5);
  });

  it('includes a timeout of each attempt', async () => {
    holdTimers();
    server.answers({ hang: true }, { hang: true }, replay);
    const result = client().payments.create(payment, { timeoutMs: 1_000 });
    await exceed(1_000, 2);
    expect(await result).toMatchObject({ replayed: true });
    expect(pauses).toEqual([1_000, 2_000]);

    server.answers({ hang: true });
    const failed = refused(
      client({ timeoutMs: 20 }).payments.create(payment, { idempotencyKey: 'k' }),
      PisTimeoutError,
    );
    await exceed(20, 5);
    const error = await failed;
    expect(error).toBeInstanceOf(PisNetworkError);
    expect(error).toMatchObject({ name: 'PisTimeoutError', attempts: 5, idempotencyKey: 'k' });
  });

  it('includes a refused connection', async () => {
    const baseUrl = await unusedUrl();
    const error = await refused(client({ baseUrl }).originators.page(), PisNetworkError);
    expect(error).toMatchObject({ attempts: 5, idempotencyKey: null });
    expect(error.cause).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  it('is retried after the time of Retry-After, but never sooner than the usual pause', async () => {
    const busy = (retryAfter: string) =>
      failure(503, 'SERVICE_UNAVAILABLE', { headers: { 'retry-after': retryAfter } });
    const inFortySeconds = new Date(Date.now() + 40_000).toUTCString();
    server.answers(busy('3'), busy('1'), busy(inFortySeconds), busy('later'), created);
    await client().payments.create(payment);
    expect(pauses[2]).toBeGreaterThan(8_000);
    expect(pauses[2]).toBeLessThanOrEqual(40_000);
    expect(pauses.toSpliced(2, 1)).toEqual([3_000, 2_000, 8_000]);
  });

  it('is left to the caller when Retry-After asks for more than a minute', async () => {
    server.answers(failure(503, 'SERVICE_UNAVAILABLE', { headers: { 'retry-after': '61' } }));
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({ retryAfterMs: 61_000, attempts: 1 });
    expect(pauses).toEqual([]);
  });

  it('includes a rate limit with a Retry-After, and no other', async () => {
    const headers = { 'retry-after': '2' };
    server.answers(failure(429, 'RATE_LIMITED', { headers }), created);
    await client().payments.create(payment);
    expect(pauses).toEqual([2_000]);

    server.answers(failure(429, 'RATE_LIMITED'));
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({ code: 'RATE_LIMITED', attempts: 1 });
  });
});

describe('A refusal', () => {
  it.each([
    [400, 'VALIDATION_ERROR'],
    [400, 'INVALID_JSON'],
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [409, 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY'],
    [413, 'PAYLOAD_TOO_LARGE'],
    [415, 'UNSUPPORTED_MEDIA_TYPE'],
  ])('with %i %s is not tried again', async (status, code) => {
    server.answers(failure(status, code));
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({
      name: 'PisApiError',
      status,
      code,
      message: `it is ${code}`,
      details: [],
      attempts: 1,
    });
    expect(server.requests).toHaveLength(1);
  });

  it('has all problems and the ID of the request', async () => {
    const details = [
      { field: 'paymentAmount', issue: 'validation_min', message: 'must be at least 1' },
      { field: 'contactId', issue: 'validation_required', message: 'is required' },
    ];
    const body = { error: { code: 'VALIDATION_ERROR', message: 'not valid', details } };
    server.answers({ status: 400, headers: { 'x-request-id': 'r-1' }, body });
    const error = await refused(client().payments.create(payment), PisApiError);
    expect(error).toMatchObject({ details, requestId: 'r-1', retryAfterMs: null });
  });
});

describe('A request that is not safe to repeat', () => {
  it.each<[string, ScriptedAnswer]>([
    ['a 500', failure(500, 'INTERNAL_ERROR')],
    ['a 503', failure(503, 'SERVICE_UNAVAILABLE', { headers: { 'retry-after': '1' } })],
    ['a cut connection', { cut: 'before the answer' }],
    ['a timeout', { hang: true }],
  ])('is not retried after %s: a second endpoint would deliver twice', async (_, answer) => {
    holdTimers();
    server.answers(answer);
    const calls = [
      () => client().webhooks.create(endpoint, { timeoutMs: 1_000 }),
      () => client().webhooks.test('e1', {}, { timeoutMs: 1_000 }),
      () => client().sandbox.simulate('p1', { outcome: 'return' }, { timeoutMs: 1_000 }),
    ];
    for (const call of calls) {
      const failed = expect(call()).rejects.toMatchObject({ attempts: 1 });
      if (answer.hang) await exceed(1_000, 1);
      await failed;
    }
    expect(server.requests).toHaveLength(calls.length);
  });

  it('is retried when it was rate limited, or never sent', async () => {
    const limited = failure(429, 'RATE_LIMITED', { headers: { 'retry-after': '1' } });
    server.answers(limited, { status: 201, body: { data: { id: 'e1', secret: 's' } } });
    expect(await client().webhooks.create(endpoint)).toMatchObject({ id: 'e1' });

    const nobody = client({ baseUrl: await unusedUrl() });
    const error = await refused(nobody.webhooks.create(endpoint), PisNetworkError);
    expect(error).toMatchObject({ attempts: 5 });
  });
});

describe('A caller that aborts', () => {
  const reason = new Error('the user left');

  it('before it begins, sends nothing', async () => {
    const call = client().payments.create(payment, { signal: AbortSignal.abort(reason) });
    expect(await refused(call, PisAbortError)).toMatchObject({ cause: reason });
    expect(server.requests).toHaveLength(0);
  });

  it('during the wait for the answer ends the request, and gets the key of a possible payment', async () => {
    server.answers({ hang: true });
    const giveUp = new AbortController();
    const arrived = server.nextRequest();
    const call = client().payments.create(payment, { signal: giveUp.signal });
    const ended = refused(call, PisAbortError);
    await arrived;
    giveUp.abort(reason);
    expect(await ended).toMatchObject({
      name: 'PisAbortError',
      cause: reason,
      attempts: 1,
      idempotencyKey: server.requests[0]?.headers['idempotency-key'],
    });
    expect(server.requests).toHaveLength(1);
  });

  it('in the pause between two attempts, ends it at once', async () => {
    server.answers(failure(500, 'INTERNAL_ERROR'));
    const giveUp = new AbortController();
    // The real pause, of a second.
    const waiting = new PisClient({ baseUrl: server.url, apiKey });
    const arrived = server.nextRequest();
    const ended = refused(waiting.payments.get('p1', { signal: giveUp.signal }), PisAbortError);
    await arrived;
    giveUp.abort(reason);
    expect(await ended).toMatchObject({ cause: reason });
    expect(server.requests).toHaveLength(1);
  });

  it('leaves no listener on a signal that outlives its requests', async () => {
    server.answers(failure(500, 'INTERNAL_ERROR'), { body: { data: [] } });
    const { signal } = new AbortController();
    await client().webhooks.list({ signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('A client', () => {
  it('never shows its API key, neither dumped nor in an error', async () => {
    server.answers(failure(401, 'UNAUTHORIZED'));
    const one = client();
    const error = await refused(one.payments.get('p1'), PisApiError);
    const cut = client({ baseUrl: await unusedUrl() });
    const network = await refused(cut.payments.get('p1'), PisNetworkError);
    for (const shown of [one, error, network])
      expect(inspect(shown, { depth: 20, showHidden: true })).not.toContain(apiKey);
    expect(JSON.stringify(one)).not.toContain(apiKey);
  });

  it.each<[string, Partial<PisClientOptions>]>([
    ['no URL', { baseUrl: 'api.example.com' }],
    ['another protocol', { baseUrl: 'ftp://api.example.com' }],
    ['credentials in the URL', { baseUrl: 'https://user:secret@api.example.com' }], // secretlint-disable-line
    ['a query', { baseUrl: 'https://api.example.com/?a=1' }],
    ['an empty key', { apiKey: ' ' }],
    ['no key, as when its variable is not set', { apiKey: undefined as unknown as string }],
    ['no time', { timeoutMs: 0 }],
    ['more time than a timer has', { timeoutMs: 2 ** 31 }],
    ['a time that is none', { timeoutMs: NaN }],
  ])('cannot be created with %s', (_, options) => {
    expect(() => client(options)).toThrow(/baseUrl|apiKey|timeoutMs/);
  });

  it('does not send a request that differs from the intended one', async () => {
    const one = client();
    await expect(one.payments.get('')).rejects.toMatchObject({ name: 'TypeError' });
    await expect(one.webhooks.delete('..')).rejects.toMatchObject({ name: 'TypeError' });
    await expect(one.contacts.update('a/b', {})).rejects.toMatchObject({ name: 'TypeError' });
    await expect(one.webhooks.get('e1?x=1')).rejects.toMatchObject({ name: 'TypeError' });
    const idempotencyKey = 'two\nlines';
    await expect(one.payments.create(payment, { idempotencyKey })).rejects.toMatchObject({
      name: 'TypeError',
    });
    await expect(one.webhooks.list({ timeoutMs: -1 })).rejects.toMatchObject({
      name: 'RangeError',
    });
    expect(server.requests).toHaveLength(0);
  });
});

/** The address of a port that nothing listens on any more. */
async function unusedUrl(): Promise<string> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}
