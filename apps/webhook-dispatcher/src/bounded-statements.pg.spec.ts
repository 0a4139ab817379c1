import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { countBacklog } from '@pis/webhook-deliveries';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
const windowMs = testConfig.PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS;
const hourMs = 3_600_000;

let fixture: DispatcherFixture;
beforeEach(async () => {
  fixture = await dispatcherFixture();
});
afterEach(() => fixture.close());

interface Waiting {
  readonly endpointId: string;
  readonly createdAt: Date;
  readonly windowEndsAt: Date;
  readonly dueAt: Date;
  readonly leasedUntil: Date | null;
  readonly attempts: number;
}
const insert = (count: number, row: Partial<Waiting> & Pick<Waiting, 'endpointId'>) => {
  const createdAt = row.createdAt ?? fixture.now();
  const windowEndsAt = row.windowEndsAt ?? new Date(createdAt.getTime() + windowMs);
  return fixture.query(
    `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, occurred_at,
        body, created_at, next_attempt_at, window_ends_at, leased_until, attempts)
      SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'payment.queued', $3, '{}', $3, $4, $5, $6, $7
        FROM generate_series(1, $8::int)`,
    [
      fixture.organizationId,
      row.endpointId,
      createdAt.toISOString(),
      (row.dueAt ?? createdAt).toISOString(),
      windowEndsAt.toISOString(),
      row.leasedUntil?.toISOString() ?? null,
      row.attempts ?? 1,
      count,
    ],
  );
};
const states = async () =>
  fixture.query<{ state: string; reason: string | null; count: number }>(
    `SELECT state, finished_reason AS reason, count(*)::int FROM webhook_delivery_records
      GROUP BY 1, 2 ORDER BY 1, 2`,
  );

describe('The backlog of a disabled endpoint', () => {
  it('is failed in small statements where windows have ended, and nowhere else', async () => {
    const { endpointId } = await fixture.createEndpoint();
    const { organizationId } = fixture;
    await fixture.change({
      type: 'UpdateWebhookEndpoint',
      at: fixture.now().toISOString(),
      data: { organizationId, endpointId, changes: { enabled: false } },
    });
    // All with one time, so that IDs order them. Then some with windows that end a little later.
    await insert(57, { endpointId });
    fixture.advance(hourMs);
    await insert(43, { endpointId });
    // Just as old, but sent again: its window has not ended.
    const revivedEndsAt = new Date(fixture.now().getTime() + 2 * windowMs);
    await insert(11, { endpointId, windowEndsAt: revivedEndsAt });
    fixture.advance(windowMs + 1);
    // Due before all others: the first look finds that the endpoint is disabled.
    await insert(13, { endpointId, dueAt: new Date(0) });

    const expiredBatchMax = 10;
    let statements = 0;
    const asked: unknown[] = [];
    const pool = aroundQueries(fixture.pool, (statement, values, send) => {
      if (statement === 'webhook_failExpired') {
        statements += 1;
        asked.push(values?.at(-1));
      }
      return send();
    });
    const limits = {
      ...testLimits,
      perEndpointInitial: 1,
      expiredBatchMax,
      disabledRecheckMs: 60_000,
    };
    fixture.dispatcher({ pool, limits }).start();
    const remaining = async () => (await fixture.query('SELECT 1 FROM webhook_deliveries')).length;
    await until(async () => (await remaining()) <= 24, { timeoutMs, what: 'the rest pending' });
    expect(await states()).toEqual([
      { state: 'failed', reason: 'window_ended', count: 100 },
      { state: 'pending', reason: null, count: 24 },
    ]);
    // 111 are old enough to be checked, and the last statement finds none.
    expect(statements).toBe(12);
    expect(new Set(asked)).toEqual(new Set([expiredBatchMax]));
  });
});

describe('The count of waiting deliveries', () => {
  const count = (max?: number) => countBacklog(fixture.pool, fixture.now(), max);

  it('is by state, over all endpoints, with the age of the oldest', async () => {
    const at = (ms: number) => new Date(fixture.now().getTime() + ms);
    for (const endpointId of [randomUUID(), randomUUID()]) {
      await insert(3, { endpointId, dueAt: at(-5_000), attempts: 0 });
      await insert(4, { endpointId, dueAt: at(-9_000), attempts: 2 });
      await insert(5, { endpointId, dueAt: at(hourMs) });
      await insert(6, { endpointId, dueAt: at(-1), leasedUntil: at(45_000) });
    }
    expect(await count()).toMatchObject({
      due: 14,
      waiting: 10,
      leased: 12,
      oldestFirstDueSeconds: 5,
      oldestRetryDueSeconds: 9,
    });
  });

  it('is bounded, and one endpoint with many hides no late delivery of another', async () => {
    const at = (ms: number) => new Date(fixture.now().getTime() + ms);
    const [one, other] = [randomUUID(), randomUUID()];
    for (const endpointId of [one, other])
      await insert(500, { endpointId, dueAt: at(-1_000), attempts: 3 });
    for (const endpointId of [one, other])
      await insert(1, { endpointId, dueAt: at(-60_000), attempts: 0 });
    await insert(500, { endpointId: one, dueAt: at(hourMs) });
    const found = await count(200);
    expect(found).toMatchObject({ due: 200, waiting: 200, oldestFirstDueSeconds: 60 });
  });

  it('is empty when nothing waits', async () => {
    expect(await count()).toMatchObject({
      due: 0,
      waiting: 0,
      leased: 0,
      oldestFirstDueSeconds: 0,
    });
  });
});

function aroundQueries(
  pool: pg.Pool,
  around: (
    statement: string,
    values: readonly unknown[] | undefined,
    send: () => Promise<pg.QueryResult>,
  ) => Promise<pg.QueryResult>,
): pg.Pool {
  return new Proxy(pool, {
    get(target, property) {
      if (property !== 'query') return Reflect.get(target, property) as unknown;
      return (query: pg.QueryConfig, values?: unknown[]) =>
        around(query.name ?? '', values ?? query.values, () => target.query(query, values));
    },
  });
}
