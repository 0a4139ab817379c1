import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { NestFactory } from '@nestjs/core';
import { Module } from '@nestjs/common';
import { BankUnavailable, bankPaths, directBankConnection, feedBeginning } from '@pis/bank-rails';
import { httpBankConnection } from '@pis/bank-rails/http';
import { readStatement } from '@pis/bank-statements';
import { bankConnectionConformance, instructionEnding } from '@pis/bank-rails/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { createLogger, LOGGER, PG_POOL } from '@pis/service-kit';
import pg from 'pg';
import { BankSimulator, BankSimulatorModule } from './bank-simulator.module.js';
import { bankStatementsPath } from './bank-statements.controller.js';

async function openDatabase() {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 8);
  const close = async () => {
    await pool.end();
    await database.drop();
  };
  return { database, pool, close };
}

/** Served by the simulator as a separate process. */
async function serve(pool: pg.Pool, http: boolean): Promise<NestFastifyApplication> {
  const providers = [
    { provide: PG_POOL, useValue: pool },
    { provide: LOGGER, useValue: createLogger('test', 'silent') },
  ];
  @Module({ providers, exports: [PG_POOL, LOGGER] })
  class Platform {}
  const sandbox = { PIS_SANDBOX_RAIL_DELAY_MS: 0, PIS_ENVIRONMENT: 'sandbox' } as const;
  const simulator = BankSimulatorModule.register(sandbox, { http });
  @Module({})
  class App {}
  const platform = { module: Platform, global: true };
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: App, imports: [platform, simulator] },
    new FastifyAdapter(),
    { logger: false },
  );
  await app.listen(0, '127.0.0.1');
  return app;
}

bankConnectionConformance('in process', async () => {
  const { pool, close } = await openDatabase();
  const connection = directBankConnection(new BankSimulator(pool, { delayMs: 0 }));
  return { connection, close };
});

bankConnectionConformance('over HTTP', async () => {
  const { pool, close } = await openDatabase();
  const app = await serve(pool, true);
  const connection = httpBankConnection({ baseUrl: await app.getUrl() });
  return {
    connection,
    async close() {
      await connection.close();
      await app.close();
      await close();
    },
  };
});

it('serves the statement of a day in the formats of banks, to be reconciled', async () => {
  const { pool, close } = await openDatabase();
  const app = await serve(pool, true);
  try {
    const bank = new BankSimulator(pool, { delayMs: 0 });
    const instruction = instructionEnding('4321');
    await bank.submit(instruction);
    const url = `${await app.getUrl()}${bankStatementsPath}`;
    for (const [query, type] of [
      ['', 'application/xml'],
      ['?format=bai2', 'text/plain'],
    ] as const) {
      const answer = await fetch(`${url}${query}`);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining(type),
      ]);
      const amounts: number[] = [];
      for await (const part of readStatement(answer.body as AsyncIterable<Uint8Array>))
        if (part.kind === 'entry') amounts.push(part.entry.amountMinor);
      expect(amounts).toEqual([instruction.amountMinor]);
    }
    expect(await (await fetch(`${url}?date=2020-01-01`)).text()).not.toContain(
      instruction.reference,
    );
    for (const query of ['?format=pdf', '?date=yesterday', '?date=1999-01-01'])
      expect((await fetch(`${url}${query}`)).status).toBe(400);
  } finally {
    await app.close();
    await close();
  }
});

describe('the simulated bank', () => {
  let pool: pg.Pool;
  let database: TestDatabase;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ pool, database, close } = await openDatabase());
  });
  afterEach(() => close());

  const count = async (sql: string) =>
    Number((await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${sql}`)).rows[0]?.n);

  it('executes a transfer once and counts how often it was submitted', async () => {
    const one = new BankSimulator(pool, { delayMs: 0 });
    const other = new BankSimulator(pool, { delayMs: 0 });
    const instruction = instructionEnding('4321');
    const banks = Array.from({ length: 25 }, () => [one, other]).flat();
    await Promise.all(banks.map((bank) => bank.submit(instruction)));
    const { rows } = await pool.query('SELECT status, submissions FROM bank_transfers');
    expect(rows).toEqual([{ status: 'accepted', submissions: 50 }]);
  });

  it('forgets a reference after its memory, and then executes it again', async () => {
    const terms = { submissionInFlightMaxMs: 60_000, referenceMemoryMs: 3_600_000 };
    const bank = new BankSimulator(pool, { delayMs: 0, terms });
    const instruction = instructionEnding('0101');
    await bank.submit(instruction);
    await pool.query(`UPDATE bank_transfers SET submitted_at = now() - interval '1 hour'`);
    expect(await bank.inquire(instruction.reference)).toEqual({ outcome: 'unknown' });
    await bank.submit(instruction);
    await bank.submit(instruction);
    const { rows } = await pool.query('SELECT executions, submissions FROM bank_transfers');
    expect(rows).toEqual([{ executions: 2, submissions: 2 }]);
    expect(await count('bank_notifications')).toBe(2);
  });

  it('does not take a submission that has waited longer than its terms allow', async () => {
    const terms = { submissionInFlightMaxMs: 0, referenceMemoryMs: 3_600_000 };
    const connection = directBankConnection(new BankSimulator(pool, { delayMs: 0, terms }));
    const instruction = instructionEnding('4321');
    await expect(connection.submit(instruction)).rejects.toBeInstanceOf(BankUnavailable);
    expect(await connection.inquire(instruction.reference)).toEqual({ outcome: 'unknown' });
  });

  it('keeps no account number in any table', async () => {
    const bank = new BankSimulator(pool, { delayMs: 1 });
    const instruction = instructionEnding('0101');
    await bank.submit(instruction);
    await bank.inquire(instruction.reference);
    const tables = await pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const texts = await Promise.all(
      tables.rows.map(({ name }) => pool.query(`SELECT t::text AS row FROM "${name}" t`)),
    );
    const everything = JSON.stringify(texts.flatMap(({ rows }) => rows as unknown[]));
    expect(everything).toContain(instruction.reference);
    for (const account of [instruction.contactAccount, instruction.originatorAccount])
      for (const number of [account.achAccountNumber, account.achRoutingNumber])
        expect(everything).not.toContain(number);
  });

  it('delays each step as configured', async () => {
    const delayMs = 120;
    const instruction = instructionEnding('0101');
    const bank = new BankSimulator(pool, { delayMs });
    const pending = { outcome: 'pending', confirmationExpected: true };
    const slower = new BankSimulator(pool, { delayMs: 3_600_000 });
    expect(await slower.submit(instructionEnding('0101'))).toEqual(pending);
    const early = await bank.notifications({ after: feedBeginning, max: 10 });
    expect(early.notifications).toEqual([]);
    expect(await bank.submit(instruction)).toEqual(pending);
    const page = await until(
      async () => {
        const feed = await bank.notifications({ after: feedBeginning, max: 10 });
        return feed.notifications.length === 2 && feed;
      },
      { timeoutMs: 20_000 },
    );
    expect(page.notifications.map(({ type }) => type)).toEqual(['confirmed', 'returned']);
    expect(await bank.submit(instruction)).toEqual({ outcome: 'accepted' });
  });

  it('shows a notification that was written earlier but committed later behind the others', async () => {
    const bank = new BankSimulator(pool, { delayMs: 0 });
    const slow = await pool.connect();
    await slow.query('BEGIN');
    await slow.query(
      `INSERT INTO bank_notifications (reference, type, due_at, created_at)
       VALUES ('written-first', 'confirmed', now(), now())`,
    );
    const quick = instructionEnding('0101');
    await bank.submit(quick);
    const { notifications, cursor } = await bank.notifications({ after: feedBeginning, max: 10 });
    expect(notifications.map(({ reference }) => reference)).toEqual([quick.reference]);
    await slow.query('COMMIT');
    slow.release();
    const next = await bank.notifications({ after: cursor, max: 10 });
    expect(next.notifications.map(({ reference }) => reference)).toEqual(['written-first']);
  });

  it('leaves the outcome open while its books cannot be reached, and continues afterwards', async () => {
    const connection = directBankConnection(new BankSimulator(pool, { delayMs: 0 }));
    const instruction = instructionEnding('4321');
    const lost = new pg.Pool({ connectionString: database.url.replace(/\/[^/]*$/, '/nowhere') });
    const away = directBankConnection(new BankSimulator(lost, { delayMs: 0 }));
    await expect(away.submit(instruction)).rejects.toBeInstanceOf(BankUnavailable);
    await lost.end();
    expect(await connection.submit(instruction)).toEqual({ outcome: 'accepted' });
    // Its connections are cut at any time: some calls fail, and none counts twice.
    const many = Array.from({ length: 40 }, () => instructionEnding('0101'));
    const first = Promise.allSettled(many.map((one) => connection.submit(one)));
    await pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await first;
    // A caller asks again, until it is answered.
    for (const one of many)
      await until(async () => (await connection.submit(one)).outcome === 'accepted', {
        timeoutMs: 20_000,
      });
    expect(await count('bank_transfers')).toBe(41);
    expect(await count('bank_notifications')).toBe(40);
  });

  it('is reachable over HTTP only when configured', async () => {
    const app = await serve(pool, false);
    const response = await fetch(`${await app.getUrl()}${bankPaths.notifications}?after=&max=1`);
    expect(response.status).toBe(404);
    await app.close();
  });

  it('reports problems over HTTP without repeating the numbers', async () => {
    const app = await serve(pool, true);
    const url = await app.getUrl();
    const post = (body: string) =>
      fetch(url + bankPaths.transfers, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    const instruction = instructionEnding('4321', { currencyCode: 'dollars' });
    const refused = await post(JSON.stringify(instruction));
    expect(refused.status).toBe(422);
    const text = await refused.text();
    expect(text).toContain('currencyCode');
    expect(text).not.toContain(instruction.contactAccount.achAccountNumber);
    expect((await post('{"a":')).status).toBe(400);
    expect((await fetch(`${url}${bankPaths.notifications}?after=x&max=1`)).status).toBe(422);
    await app.close();
  });
});
