import { randomUUID } from 'node:crypto';
import { payment as payments } from '@pis/domain';
import { repository } from '@pis/event-store';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { by, type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, issuesOf, type Payer } from './testing/payments.js';

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

describe('moving a sandbox payment by hand', () => {
  const simulate = (paymentId: string, body: object) =>
    gateway.call(`/v1/sandbox/payments/${paymentId}/simulate`, {
      tenant: payer.tenant,
      method: 'POST',
      body,
    });
  const submit = (paymentId: string) => {
    const command = { type: 'ProcessPayment', data: { railReference: 'r' } } as const;
    const at = new Date().toISOString();
    return repository(gateway.store, payments).execute(paymentId, { ...command, at }, by);
  };

  it('follows the allowed transitions and refuses all others', async () => {
    const paymentId = idOf(await payer.pay());
    expect(codeOf(await simulate(paymentId, { outcome: 'complete' }))).toBe('409 CONFLICT');
    await submit(paymentId);
    expect(codeOf(await simulate(paymentId, { outcome: 'late_confirm' }))).toBe('409 CONFLICT');
    expect((await simulate(paymentId, { outcome: 'time_out' })).body?.data).toMatchObject({
      status: 'FAILED_IN_FLIGHT',
    });
    expect(codeOf(await simulate(paymentId, { outcome: 'complete' }))).toBe('409 CONFLICT');
    expect((await simulate(paymentId, { outcome: 'late_confirm' })).body?.data).toMatchObject({
      status: 'COMPLETED',
      failureReason: null,
    });
    const returned = await simulate(paymentId, { outcome: 'return', returnReasonCode: 'R01' });
    expect(returned.body?.data).toMatchObject({ status: 'RETURNED', returnReasonCode: 'R01' });
    expect(codeOf(await simulate(paymentId, { outcome: 'fail' }))).toBe('409 CONFLICT');
  });

  describe('of a transfer that the simulated bank has', () => {
    let pool: pg.Pool;
    beforeAll(() => {
      pool = openTestPool(database.url, 2);
    });
    afterAll(() => pool.end());

    /** A payment in PROCESSING, and the bank's row of its transfer. */
    async function submitted(status: 'pending' | 'accepted') {
      const paymentId = idOf(await payer.pay());
      const reference = `r-${paymentId}`.slice(0, 22);
      const command = { type: 'ProcessPayment', data: { railReference: reference } } as const;
      const at = new Date().toISOString();
      await repository(gateway.store, payments).execute(paymentId, { ...command, at }, by);
      await pool.query(
        `INSERT INTO bank_transfers (reference, rail, direction, amount_minor, currency_code, plan, status, submitted_at)
         VALUES ($1, 'ACH', 'OUTBOUND', 1, 'USD', 'hold', $2, now())`,
        [reference, status],
      );
      await pool.query(
        `INSERT INTO bank_executions (reference, number, rail, direction, amount_minor, received_at, state)
         VALUES ($1, 1, 'ACH', 'OUTBOUND', 1, now(), $2)`,
        [reference, status === 'accepted' ? 'executed' : 'pending'],
      );
      const books = async () =>
        (await bankBooks(pool)).find((entry) => entry.reference === reference)?.state ?? null;
      const reports = async () =>
        (
          await pool.query<{ type: string; code: string | null }>(
            `SELECT type, return_reason_code AS code FROM bank_notifications
              WHERE reference = $1 ORDER BY id`,
            [reference],
          )
        ).rows;
      const plan = (type: string) =>
        pool.query(
          `INSERT INTO bank_notifications (reference, channel, type, due_at, created_at)
           VALUES ($1, 'ach', $2, now() + interval '1 hour', now())`,
          [reference, type],
        );
      return { paymentId, books, reports, plan };
    }

    it('changes the books of the bank, which reports it', async () => {
      const { paymentId, books, reports } = await submitted('pending');
      expect((await simulate(paymentId, { outcome: 'complete' })).body?.data).toMatchObject({
        status: 'COMPLETED',
      });
      expect(await books()).toBe('executed');
      const back = { outcome: 'return', returnReasonCode: 'R03' };
      expect(codeOf(await simulate(paymentId, back))).toBe('200');
      expect(await books()).toBe('returned');
      expect(codeOf(await simulate(paymentId, back))).toBe('409 CONFLICT');
      expect(await reports()).toEqual([
        { type: 'confirmed', code: null },
        { type: 'returned', code: 'R03' },
      ]);
    });

    it('fails only what the bank has not executed', async () => {
      const held = await submitted('pending');
      // It would be confirmed later.
      await held.plan('confirmed');
      expect(codeOf(await simulate(held.paymentId, { outcome: 'fail' }))).toBe('200');
      expect(await held.books()).toBeNull();
      expect(await held.reports()).toEqual([{ type: 'rejected', code: null }]);
      const executed = await submitted('accepted');
      expect(codeOf(await simulate(executed.paymentId, { outcome: 'fail' }))).toBe('409 CONFLICT');
      expect(await executed.books()).toBe('executed');
    });
  });

  it('shows the new status in the list at once', async () => {
    const paymentId = idOf(await payer.pay());
    expect(codeOf(await simulate(paymentId, { outcome: 'fail' }))).toBe('200');
    const listed = await payer.list('?status=FAILED&limit=1');
    expect(listed.body?.data).toMatchObject([{ paymentId, failureCode: 'INTERNAL_ERROR' }]);
  });

  it('reports all problems of the request', async () => {
    const body = { outcome: 'win', returnReasonCode: 'R86' };
    expect(issuesOf(await simulate(randomUUID(), body))).toEqual([
      'outcome validation_enum',
      'returnReasonCode validation_enum',
    ]);
    expect(issuesOf(await simulate('7', { outcome: 'fail' }))).toEqual([
      'paymentId validation_uuid',
    ]);
    expect(codeOf(await simulate(randomUUID(), { outcome: 'fail' }))).toBe('404 NOT_FOUND');
  });

  it('does not exist in production', async () => {
    const production = await startGateway({
      databaseUrl: database.url,
      environment: 'production',
      projects: false,
    });
    try {
      const own = await production.createTenant();
      const path = `/v1/sandbox/payments/${randomUUID()}/simulate`;
      const call = { tenant: own, method: 'POST', body: { outcome: 'fail' } } as const;
      expect(codeOf(await production.call(path, call))).toBe('404 NOT_FOUND');
    } finally {
      await production.close();
    }
  });
});
