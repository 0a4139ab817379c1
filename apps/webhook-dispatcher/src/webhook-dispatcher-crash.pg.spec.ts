import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type pg from 'pg';
import type { StatementName } from '@pis/webhook-deliveries';
import { dispatcherLimits, leaseMs } from './limits.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const hourMs = 3_600_000;
const initialMs = testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS;
const lease = leaseMs(testConfig.PIS_WEBHOOK_TIMEOUT_MS);
/** Leases of dead dispatchers end soon. */
const limits = { ...testLimits, shutdownGraceMs: 20, shutdownRecordMs: 20 };

interface Step {
  readonly statement: StatementName;
  readonly moment: 'before' | 'after';
  /** Requests that the receiver may get, the failed one included. */
  readonly requests: number;
}

describe('A client receives each webhook, with the same id and body', () => {
  let fixture: DispatcherFixture;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
  });
  afterEach(() => fixture.close());

  const records = () =>
    fixture.query<{ id: string; state: string; attempts: number; finished_reason: string | null }>(
      'SELECT id, state, attempts, finished_reason FROM webhook_delivery_records',
    );
  const untilStates = (...expected: string[]) =>
    until(async () => (await records()).map(({ state }) => state).join() === expected.join(), {
      timeoutMs,
      what: expected.join(),
    });
  const started = (changes: Parameters<DispatcherFixture['dispatcher']>[0] = {}) => {
    const dispatcher = fixture.dispatcher({ limits, ...changes });
    dispatcher.start();
    return dispatcher;
  };

  const steps: Step[] = [
    { statement: 'insert', moment: 'before', requests: 1 },
    { statement: 'insert', moment: 'after', requests: 1 },
    { statement: 'finish', moment: 'before', requests: 2 },
    { statement: 'finish', moment: 'after', requests: 1 },
    { statement: 'postpone', moment: 'before', requests: 2 },
    { statement: 'postpone', moment: 'after', requests: 2 },
    { statement: 'due', moment: 'before', requests: 2 },
    { statement: 'claim', moment: 'before', requests: 2 },
    { statement: 'claim', moment: 'after', requests: 2 },
  ];
  it.each(steps)('when its dispatcher dies $moment its $statement', async (step) => {
    const { statement, moment } = step;
    const { secret } = await fixture.createEndpoint();
    const isOfRetry = ['postpone', 'due', 'claim'].includes(statement);
    fixture.receiver.respondWith((_, index) => ({ status: isOfRetry && index === 0 ? 500 : 200 }));
    const event = await fixture.paymentEvent();
    const isTried = statement === 'due' || statement === 'claim';
    if (isTried) {
      await fixture.dispatcher().handle(event);
      await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
      fixture.advance(initialMs);
    }

    const { pool, death } = mortal(fixture.pool, statement, moment);
    const victim = started({ pool });
    if (!isTried) await victim.handle(event).catch(() => undefined);
    await until(death, { timeoutMs, what: 'its death' });

    // In either case the message is delivered again.
    const successor = started();
    await successor.handle(event);
    const { requests } = fixture.receiver;
    await until(
      async () => {
        // The lease of an attempt that has arrived must not end before its record.
        if (requests.length < step.requests) fixture.advance(lease);
        return (await records())[0]?.state === 'delivered';
      },
      { timeoutMs, everyMs: 300 },
    );
    await successor.handle(event);
    await successor.stop();
    expect(await records()).toHaveLength(1);
    expect(requests).toHaveLength(step.requests);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(1);
    for (const { body, headers } of requests) {
      const signedAt = new Date(String(headers['x-webhook-timestamp']));
      expect(verify(body, headers, secret, signedAt)).toBe(true);
    }
  });

  it('once, although its message comes again after the delivery has finished, also to another dispatcher', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint({ subscribedEvents: ['payment.failed'] });
    const event = await fixture.paymentEvent();
    const first = started();
    await first.handle(event);
    await untilStates('delivered');
    await first.handle(event);
    await Promise.all([1, 2, 3].map(() => started().handle(event)));
    expect(await fixture.query('SELECT 1 FROM webhook_deliveries')).toEqual([]);
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('once, when five dispatchers get the same messages at once', async () => {
    await fixture.createEndpoint();
    const events = await Promise.all(Array.from({ length: 40 }, () => fixture.paymentEvent()));
    const dispatchers = [1, 2, 3, 4, 5].map(() => started());
    await Promise.all(
      dispatchers.flatMap((dispatcher) => events.map((event) => dispatcher.handle(event))),
    );
    await until(
      async () => (await records()).filter(({ state }) => state === 'delivered').length === 40,
      { timeoutMs },
    );
    expect(fixture.receiver.requests).toHaveLength(40);
  });

  it('when the clock is set back: new ones at once, retries when they are due', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const dispatcher = started();
    await dispatcher.handle(await fixture.paymentEvent());
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    fixture.advance(-hourMs);
    await dispatcher.handle(await fixture.paymentEvent());
    await fixture.receiver.waitFor(() => fixture.receiver.requests.length === 2);
    fixture.advance(hourMs + initialMs);
    await untilStates('delivered', 'delivered');
    expect(fixture.receiver.requests).toHaveLength(3);
  });

  it('when the clock jumps over its window before the first attempt: that attempt is made', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    await fixture
      .dispatcher({ limits: { ...limits, quickMax: 0 } })
      .handle(await fixture.paymentEvent());
    expect(fixture.receiver.requests).toHaveLength(0);
    fixture.advance(80 * hourMs);
    started();
    await untilStates('failed');
    // It was attempted once, the receiver refused it, and its window is over.
    expect(await records()).toMatchObject([{ attempts: 1, finished_reason: 'window_ended' }]);
  });

  it('once, although its process was delayed until its lease had ended', async () => {
    await fixture.createEndpoint();
    const held = holding(fixture.pool, 'insert');
    // Its time to begin is over when the answer to its insert finally arrives.
    const late = fixture.dispatcher({ pool: held.pool, limits: { ...limits, beginWithinMs: -1 } });
    const handled = late.handle(await fixture.paymentEvent());
    await until(async () => (await records()).length === 1, { timeoutMs });
    started();
    fixture.advance(lease);
    await untilStates('delivered');
    held.release();
    await handled;
    await late.stop();
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('a day after its event, when the broker was unavailable: the body is stored with the delivery', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const event = await fixture.paymentEvent();
    fixture.advance(25 * hourMs);
    const dispatcher = started();
    await dispatcher.handle(event);
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    // The day of the event is past its retention and dropped.
    await fixture.query('TRUNCATE webhook_fan_outs');
    fixture.advance(initialMs);
    await untilStates('delivered');
    const [first, second] = fixture.receiver.requests;
    expect(second?.body).toBe(first?.body);
  });

  it('never without its body: when the body is gone, the attempt is recorded and fails', async () => {
    await fixture.createEndpoint();
    fixture.receiver.respondWith(() => ({ status: 500 }));
    await started().handle(await fixture.paymentEvent());
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    await fixture.query('TRUNCATE webhook_fan_outs');
    fixture.advance(initialMs);
    await until(async () => (await records())[0]?.attempts === 2, { timeoutMs });
    expect(await fixture.query('SELECT last_error FROM webhook_delivery_records')).toEqual([
      { last_error: 'the body of the delivery is gone' },
    ]);
    expect(fixture.receiver.requests).toHaveLength(1);
  });

  it('when the statements are larger than one batch', async () => {
    await fixture.createEndpoint();
    const many = dispatcherLimits.engine.batchMax + 50;
    const events = await Promise.all(Array.from({ length: many }, () => fixture.paymentEvent()));
    const dispatcher = started();
    await Promise.all(events.map((event) => dispatcher.handle(event)));
    await until(
      async () => (await records()).filter(({ state }) => state === 'delivered').length === many,
      { timeoutMs },
    );
    expect(fixture.receiver.requests).toHaveLength(many);
  });
});

/** The pool of a process that dies at the named statement: it sends nothing after that. */
function mortal(pool: pg.Pool, statement: StatementName, moment: 'before' | 'after') {
  let isDead = false;
  const query = async (config: pg.QueryConfig) => {
    const isLast = !isDead && config.name === `webhook_${statement}`;
    if (isDead || (isLast && moment === 'before')) {
      isDead = true;
      throw new Error('dead');
    }
    const result = await pool.query(config);
    if (!isLast) return result;
    isDead = true;
    throw new Error('dead');
  };
  return { pool: withQuery(pool, query), death: () => isDead };
}

/** The named statement is run, but its answer arrives only when released. */
function holding(pool: pg.Pool, statement: StatementName) {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const query = async (config: pg.QueryConfig) => {
    const result = await pool.query(config);
    if (config.name === `webhook_${statement}`) await released;
    return result;
  };
  return { pool: withQuery(pool, query), release: () => release() };
}

function withQuery(pool: pg.Pool, query: (config: pg.QueryConfig) => Promise<unknown>): pg.Pool {
  return new Proxy(pool, {
    get: (target, property) =>
      property === 'query' ? query : (Reflect.get(target, property) as unknown),
  });
}
