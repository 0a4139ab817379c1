import { once } from 'node:events';
import { request } from 'node:http';
import { Controller, Get, Global, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApiKey, createOrganization, unrefused } from '@pis/commands';
import {
  createPayment,
  getPayment,
  listPayments,
  type PaymentCreateRequest,
  type PaymentListQuery,
  type PaymentReadQuery,
  type WebhookPatchRequest,
} from '@pis/contracts';
import { memoryEventStore } from '@pis/event-store';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import {
  createLogger,
  httpAdapter,
  LOG_WATCH,
  LOGGER,
  METRICS,
  PublicRoute,
} from '@pis/service-kit';
import { testMetrics } from '@pis/service-kit/testing';
import type { FastifyRequest } from 'fastify';
import { Authentication } from './authentication.js';
import { ApiError, notFound } from './errors.js';
import { configureHttp } from './http.js';
import { Body, Caller, type Caller as ApiCaller, Id, IdempotencyKey, Query } from './inputs.js';
import { Operation } from './operation.js';
import { OrganizationRateLimit } from './organization-rate-limit.js';
import { PageRoute } from './page-route.js';
import { RateLimit } from './rate-limit.js';
import { RequestTimeLimit } from './request-time-limit.js';
import { type Answer, answer } from './requests.js';

const atEnd = closeAfterEach();

const store = memoryEventStore();
const address = { publicUrl: undefined };
const noLimit = new RateLimit({ perSecond: 0 });
const noOrganizationLimit = new OrganizationRateLimit(noLimit, new Map(), () => noLimit);

async function create(controller: Type, configure = configureHttp) {
  const provided = new Map<symbol | Type, unknown>([
    [LOGGER, createLogger('test', 'silent')],
    [LOG_WATCH, { check: () => undefined }],
    [Authentication, new Authentication(store, 'sandbox', noLimit)],
    [RateLimit, noLimit],
    [METRICS, testMetrics()],
    [OrganizationRateLimit, noOrganizationLimit],
    [RequestTimeLimit, new RequestTimeLimit(10_000)],
  ]);
  @Global()
  @Module({
    controllers: [controller],
    providers: [...provided].map(([provide, useValue]) => ({ provide, useValue })),
  })
  class App {}
  const app = await NestFactory.create<NestFastifyApplication>(App, httpAdapter(), {
    bodyParser: false,
    logger: false,
    abortOnError: false,
  });
  configure(app, { publicUrl: undefined, api: true });
  return app;
}

describe('an app', () => {
  it('does not start with a route that no operation declares', async () => {
    @Controller('v1/payments')
    class Undeclared {
      @Get('all')
      all(): string {
        return 'everything';
      }
    }
    const app = await create(Undeclared);
    await expect(app.init()).rejects.toThrow(
      'GET /v1/payments/all is neither declared by an operation nor declared public',
    );
  });

  it('starts with a route that is declared public, which needs no key', async () => {
    const app = await create(Health);
    atEnd(() => app.close());
    await app.init();
    expect((await app.inject('/health/live')).body).toBe('live');
  });

  it('without an API serves public routes, and does not start with an operation', async () => {
    const pages: typeof configureHttp = (app) => configureHttp(app, { ...address, api: false });
    const app = await create(Health, pages);
    await app.init();
    const { body, headers } = await app.inject('/health/live');
    expect([body, headers['x-content-type-options']]).toEqual(['live', 'nosniff']);
    await app.close();
    await expect((await create(Payments, pages)).init()).rejects.toThrow(
      'POST /v1/payments is an operation, but the app has no API',
    );
  });

  it('answers an error of a page as HTML, and every other error as JSON', async () => {
    @Controller()
    class Mixed {
      @Get('pay/:token')
      @PageRoute(
        ({ status, body }, { url }) => `<h1>${status} ${url}: ${body.error.message}</h1>`,
        { 'Content-Security-Policy': "default-src 'self'" },
      )
      page(): never {
        throw notFound('payment');
      }

      @Get('health/live')
      @PublicRoute('health')
      live(): never {
        throw notFound('process');
      }
    }
    const app = await create(Mixed, (server) => configureHttp(server, { ...address, api: false }));
    atEnd(() => app.close());
    await app.init();
    const page = await app.inject('/pay/x');
    expect(page).toMatchObject({ statusCode: 404, body: '<h1>404 /pay/x: payment not found</h1>' });
    expect(page.headers['content-security-policy']).toBe("default-src 'self'");
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    for (const path of ['/health/live', '/unknown']) {
      const other = await app.inject(path);
      expect(other.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(other.json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    }
  });

  it('requires keys for the API when several apps share a server', async () => {
    const app = await create(Payments, (server) => {
      configureHttp(server, { ...address, api: false });
      configureHttp(server, { ...address, api: true });
      configureHttp(server, { ...address, api: false });
    });
    atEnd(() => app.close());
    await app.init();
    expect((await app.inject('/v1/payments')).statusCode).toBe(401);
  });
});

@Controller('health')
class Health {
  @Get('live')
  @PublicRoute('health')
  live(): string {
    return 'live';
  }
}

@Controller()
class Payments {
  @Operation(createPayment)
  create(
    // Deliberately in another order than that of the checks.
    @Body() body: PaymentCreateRequest,
    @IdempotencyKey() key: string,
    @Caller() { keyType }: ApiCaller,
  ): Answer<{ readonly paymentId: string }> {
    return answer({ paymentId: `${keyType} ${key} ${body.paymentAmount}` });
  }

  @Operation(getPayment)
  get(@Id('paymentId') paymentId: string, @Query() { asOf }: PaymentReadQuery): never {
    throw new ApiError('NOT_FOUND', `${paymentId} ${String(asOf)}`);
  }

  @Operation(listPayments)
  list(@Query() { limit }: PaymentListQuery): Answer<readonly never[]> {
    const { data, meta } = answer([]);
    return { data, meta: { ...meta, pagination: { limit, nextCursor: null } } };
  }
}

const id = '5b0c2f7e-3a7d-4a49-9d0e-6c1f2f8f7a01';
const payment = { originatorId: id, contactId: id, paymentAmount: 5, direction: 'OUTBOUND' };

describe('an operation', () => {
  let app: NestFastifyApplication;
  const keys: Record<string, string> = {};
  beforeAll(async () => {
    app = await create(Payments);
    await app.init();
    const context = { store, by: { actor: 'user:test', requestId: null, ...noTrace } };
    const { organizationId } = unrefused(await createOrganization(context, { name: 'Acme' }));
    for (const type of ['full_access', 'read_only', 'webhook_admin'] as const) {
      const created = unrefused(
        await createApiKey(context, { organizationId, type, environment: 'sandbox' }),
      );
      keys[type] = created.apiKey;
    }
  });
  afterAll(() => app?.close());

  async function send(
    method: 'GET' | 'POST',
    url: string,
    { key = 'full_access', body, headers = {} }: Sent = {},
  ): Promise<string> {
    const authorization = `Bearer ${keys[key] ?? 'none'}`;
    const reply = await app.inject({
      method,
      url,
      headers: { authorization, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const { data, error } = reply.json<{ data?: object; error?: { code: string } }>();
    return `${reply.statusCode} ${error?.code ?? JSON.stringify(data)}`;
  }

  it('gets its inputs after validation', async () => {
    const headers = { 'idempotency-key': 'k1' };
    expect(await send('POST', '/v1/payments/', { body: payment, headers })).toBe(
      '201 {"paymentId":"full_access k1 5"}',
    );
    expect(await send('GET', '/v1/payments?limit=7')).toBe('200 []');
    expect(await send('GET', `/v1/payments/${id}/`)).toBe('404 NOT_FOUND');
  });

  it('keeps no timer for a request after its client disconnects', async () => {
    const entered = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    @Controller()
    class Slow {
      @Operation(listPayments)
      async list(@Query() { limit }: PaymentListQuery): Promise<Answer<readonly never[]>> {
        entered.resolve();
        await held.promise;
        const { data, meta } = answer([]);
        return { data, meta: { ...meta, pagination: { limit, nextCursor: null } } };
      }
    }
    const slow = await create(Slow);
    atEnd(() => slow.close());
    const seen: FastifyRequest[] = [];
    slow
      .getHttpAdapter()
      .getInstance()
      .addHook('onRequest', (one, _reply, done) => {
        seen.push(one);
        done();
      });
    await slow.listen(0, '127.0.0.1');
    const headers = { authorization: `Bearer ${keys['read_only']}` };
    const client = request(`${await slow.getUrl()}/v1/payments`, { headers });
    client.on('error', () => undefined).end();
    await entered.promise;
    expect(seen[0]?.limitTimer).not.toBeNull();
    const gone = once(seen[0]?.raw.socket ?? client, 'close');
    client.destroy();
    await gone;
    held.resolve();
    await until(async () => seen[0]?.limitTimer === null, { timeoutMs: 5_000 });
  });

  it('always checks its inputs in the same order', async () => {
    expect(await send('POST', '/v1/payments', { body: { paymentAmount: 0 } })).toBe(
      '400 IDEMPOTENCY_KEY_REQUIRED',
    );
    const headers = { 'idempotency-key': 'k1' };
    expect(await send('POST', '/v1/payments', { body: {}, headers })).toBe('400 VALIDATION_ERROR');
    expect(await send('GET', '/v1/payments?limit=0')).toBe('400 VALIDATION_ERROR');
    expect(await send('GET', '/v1/payments/not-an-id')).toBe('400 VALIDATION_ERROR');
  });

  it('reports the problems of its IDs and of its query or body together', async () => {
    const headers = { authorization: `Bearer ${keys['full_access'] ?? ''}` };
    const reply = await app.inject({ url: '/v1/payments/not-an-id?asOf=never', headers });
    const { error } = reply.json<{ error: { details: { field: string; issue: string }[] } }>();
    expect(error.details.map(({ field, issue }) => `${field} ${issue}`)).toEqual([
      'paymentId validation_uuid',
      'asOf validation_datetime',
    ]);
  });

  it('is not found at a path with a doubled slash, with or without a key', async () => {
    for (const key of ['full_access', 'unknown'])
      for (const path of ['/v1/payments//', `/v1/payments/${id}//`, `/v1//payments/${id}`])
        expect(`${path} ${await send('GET', path, { key })}`).toBe(`${path} 404 NOT_FOUND`);
  });

  it('admits only its types of keys, and checks this before the body', async () => {
    const text = { 'content-type': 'text/plain' };
    const refused = { key: 'read_only', body: payment, headers: text };
    expect(await send('POST', '/v1/payments', refused)).toBe('403 FORBIDDEN');
    expect(await send('GET', '/v1/payments', { key: 'read_only' })).toBe('200 []');
    expect(await send('GET', '/v1/payments', { key: 'webhook_admin' })).toBe('403 FORBIDDEN');
    expect(await send('GET', '/v1/payments', { key: 'unknown' })).toBe('401 UNAUTHORIZED');
  });

  it('does not run in an app without the hooks', async () => {
    const open = await create(Payments, () => undefined);
    atEnd(() => open.close());
    await open.init();
    const headers = { authorization: `Bearer ${keys['full_access'] ?? ''}` };
    const reply = await open.inject({ url: '/v1/payments', headers });
    expect(reply.statusCode).toBe(403);
  });
});

describe('a handler', () => {
  it('takes exactly the inputs of its operation', () => {
    const define = () => {
      class Careless {
        @Operation(createPayment)
        create(
          @Id('contactId') contactId: string,
          @Body() { paymentAmount }: PaymentCreateRequest,
        ): Answer<{ readonly paymentId: string }> {
          return answer({ paymentId: `${contactId} ${paymentAmount}` });
        }
      }
      return Careless;
    };
    expect(define).toThrow('createPayment and its handler differ in: header, id contactId');
  });
});

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
const noTrace = { correlationId: 'test', causationId: null, traceparent: null };

// Only compiled. If the handler below a directive compiles, that directive fails the type check.
export function mismatches(): Type {
  @Controller()
  class Mismatches {
    // @ts-expect-error the body is that of another operation
    @Operation(createPayment)
    otherBody(@Body() { url }: WebhookPatchRequest): Answer<{ readonly paymentId: string }> {
      return answer({ paymentId: String(url) });
    }

    // @ts-expect-error the operation takes no body
    @Operation(getPayment)
    noBody(@Body() body: PaymentCreateRequest): never {
      throw new Error(body.contactId);
    }

    // @ts-expect-error a string where the schema has a number
    @Operation(createPayment)
    otherField(@Body() body: { paymentAmount: string }): Answer<{ readonly paymentId: string }> {
      return answer({ paymentId: body.paymentAmount });
    }

    // @ts-expect-error the operation answers a payment
    @Operation(getPayment)
    otherAnswer(@Id('paymentId') contactId: string): Answer<{ readonly contactId: string }> {
      return answer({ contactId });
    }
  }
  return Mismatches;
}
