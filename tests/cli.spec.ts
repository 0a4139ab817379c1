/** `pis`, the operator's command: what each command prints, and how each fails. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function fileOf(content: unknown): string {
  const file = path.join(scratch, `${randomUUID()}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** Of 28 processes, one after the other. */
const helpLimitMs = 300_000;

describe('on a separate database', () => {
  const originator = {
    entityType: 'BUSINESS',
    companyName: 'Acme Inc',
    email: 'treasury@acme.example',
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: '021000021',
      achAccountNumber: '778899001122',
    },
  };
  let database: TestDatabase;
  let environment: Record<string, string>;
  let organizationId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    environment = {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_DATA_DIR: path.join(scratch, 'unused'),
    };
    const created = await json('organization', 'create', '--name', 'Acme');
    expect(created).toEqual({ organizationId: uuid });
    organizationId = (created as { organizationId: string }).organizationId;
  });
  afterAll(() => database?.drop());

  const json = (...args: string[]) => pisJson<unknown>(args, environment);
  const plain = (...args: string[]) => pis(args, environment);
  const createOriginator = (file: string) =>
    plain('originator', 'create', '--organization', organizationId, '--file', file);
  const createKey = (...rest: string[]) =>
    plain('api-key', 'create', '--organization', organizationId, '--type', 'read_only', ...rest);

  it(
    'every command has help, and an unknown one is refused with the list of commands',
    async () => {
      const commands = [
        [],
        ['organization', 'create'],
        ['originator', 'create'],
        ['api-key', 'create'],
        ['api-key', 'revoke'],
        ['api-key', 'list'],
        ['user', 'create'],
        ['user', 'list'],
        ['user', 'disable'],
        ['user', 'reset'],
        ['migrate'],
        ['event-store', 'check'],
        ['event-store', 'apply'],
        ['kafka', 'apply'],
        ['projections', 'rebuild'],
        ['projections', 'status'],
        ['dead-letters', 'list'],
        ['dead-letters', 'replay'],
        ['rails', 'notifications', 'list'],
        ['rails', 'notifications', 'retry'],
        ['rails', 'files', 'list'],
        ['rails', 'files', 'show'],
        ['rails', 'files', 'forget'],
        ['store', 'rebind'],
        ['webhooks', 'redeliver'],
        ['webhooks', 'listen'],
        ['webhooks', 'trigger'],
      ];
      for (const command of commands) {
        const help = await pis([...command, '--help'], {});
        expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: '' });
        expect(help.stdout).toContain(`Usage: ${['pis', ...command].join(' ')}`);
        if (command.length > 0) expect(help.stdout).toContain('--json');
      }
      expectRefusal(
        await pis(['frobnicate'], {}),
        /^pis: unknown command 'frobnicate'/,
        /Commands:/,
      );
      expectRefusal(await pis(['organization', 'create'], {}), /^pis: required option '--name/);
    },
    helpLimitMs,
  );

  it('prints readable lines without --json', async () => {
    const { code, stdout } = await plain('organization', 'create', '--name', 'Another');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^organizationId: [0-9a-f-]{36}\n$/);
    expectRefusal(await plain('organization', 'create', '--name', ' '), /1 to 200 characters/);
  });

  it('an originator is created from a file', async () => {
    const file = fileOf(originator);
    const args = ['originator', 'create', '--organization', organizationId, '--file', file];
    expect(await json(...args)).toEqual({ originatorId: uuid });
  });

  it('an invalid originator file is refused with every problem, without account numbers', async () => {
    const { bankAccount } = originator;
    const invalid = await createOriginator(
      fileOf({
        ...originator,
        email: 'not an address',
        companyName: undefined,
        bankAccount: { ...bankAccount, achRoutingNumber: '021000022', subType: 'GOLD' },
      }),
    );
    expectRefusal(
      invalid,
      'email',
      'companyName',
      'bankAccount.achRoutingNumber',
      'bankAccount.subType',
    );
    const tooLong = await createOriginator(
      fileOf({
        ...originator,
        bankAccount: { ...bankAccount, achAccountNumber: '7'.repeat(18) },
      }),
    );
    expectRefusal(tooLong, 'bankAccount.achAccountNumber');
    const none = await createOriginator(fileOf({ ...originator, bankAccount: null }));
    expectRefusal(none, 'bankAccount');
    const notJson = await createOriginator(fileOf('{"achAccountNumber": "778899001122"'));
    expectRefusal(notJson, 'is not JSON');
    expectRefusal(
      await createOriginator(path.join(scratch, 'nowhere.json')),
      /cannot read .*ENOENT/,
    );
    for (const { stderr } of [invalid, tooLong, none, notJson])
      expect(stderr).not.toMatch(/778899001122|7{18}|021000022/);
  });

  it('an unknown organization gets neither originator nor key', async () => {
    const nobody = randomUUID();
    const file = fileOf(originator);
    expectRefusal(
      await plain('originator', 'create', '--organization', nobody, '--file', file),
      `there is no organization ${nobody}`,
    );
    expectRefusal(
      await plain('api-key', 'create', '--organization', nobody, '--type', 'full_access'),
      `there is no organization ${nobody}`,
    );
    for (const kind of ['api-key', 'user'])
      expectRefusal(
        await plain(kind, 'list', '--organization', nobody),
        `there is no organization ${nobody}`,
      );
  });

  it('a key is shown once, listed without its value, and revoked permanently', async () => {
    const args = ['api-key', 'create', '--organization', organizationId, '--type', 'read_only'];
    const created = await json(...args, '--expires-at', '2199-01-01T00:00:00Z');
    expect(created).toEqual({
      apiKeyId: uuid,
      apiKey: expect.stringMatching(/^pis_test_[A-Za-z0-9_-]{43}$/),
      type: 'read_only',
    });
    const { apiKeyId, apiKey } = created as { apiKeyId: string; apiKey: string };
    const listed = await plain('api-key', 'list', '--organization', organizationId, '--json');
    expect(listed.stdout).not.toContain(apiKey.slice('pis_test_'.length));
    expect(JSON.parse(listed.stdout)).toEqual([
      {
        apiKeyId,
        type: 'read_only',
        keyType: 'read_only',
        organizationId,
        environment: 'sandbox',
        createdAt: isoTime,
        expiresAt: '2199-01-01T00:00:00.000Z',
        revokedAt: null,
      },
    ]);

    const forPeople = await plain('api-key', 'list', '--organization', organizationId);
    expect(forPeople.stdout).toContain('\ntype: read_only\n');
    expect(forPeople.stdout).not.toContain('keyType');

    const revoked = await json('api-key', 'revoke', '--id', apiKeyId);
    expect(revoked).toEqual({ apiKeyId, revokedAt: isoTime });
    expect(await json('api-key', 'revoke', '--id', apiKeyId)).toEqual(revoked);
    expect(await json('api-key', 'list', '--organization', organizationId)).toMatchObject([
      revoked,
    ]);
    const unknown = randomUUID();
    expectRefusal(await plain('api-key', 'revoke', '--id', unknown), `no API key ${unknown}`);
  });

  it('an event records who revoked a key and why, also for a failed action', async () => {
    const { apiKeyId } = JSON.parse((await createKey('--json')).stdout) as { apiKeyId: string };
    const reason = 'found in a public repository';
    const who = ['--actor', 'ada', '--reason', reason];
    await json('api-key', 'revoke', '--id', apiKeyId, ...who);
    const [started, succeeded] = await actionsOn(apiKeyId);
    expect(started).toMatchObject({
      type: 'OperatorActionStarted',
      actor: 'user:cli:ada',
      data: { action: 'api-key revoke', subject: { apiKeyId }, actor: 'ada', reason },
    });
    expect(succeeded).toMatchObject({
      type: 'OperatorActionSucceeded',
      data: { outcome: { revokedAt: isoTime } },
    });

    const unknown = randomUUID();
    await plain('api-key', 'revoke', '--id', unknown);
    expect(await actionsOn(unknown)).toMatchObject([
      { data: { actor: os.userInfo().username, reason: null } },
      { type: 'OperatorActionFailed', data: { error: `there is no API key ${unknown}` } },
    ]);
    const empty = await plain('api-key', 'revoke', '--id', unknown, '--reason', ' ');
    expectRefusal(empty, '--reason', '1 to 500 characters');
  });

  it('a key that is given in place of its id is not recorded', async () => {
    const { apiKey } = JSON.parse((await createKey('--json')).stdout) as { apiKey: string };
    for (const args of [
      ['api-key', 'revoke', '--id', apiKey],
      ['webhooks', 'redeliver', '--delivery', apiKey],
    ]) {
      const refused = await plain(...args);
      expectRefusal(refused, 'is not a UUID');
      expect(refused.stderr).not.toContain(apiKey);
    }
    expect(await actionsOn(apiKey)).toEqual([]);
  });

  async function actionsOn(id: string) {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client
      .query(
        `SELECT type, data, metadata->>'actor' AS actor FROM events WHERE stream_id IN
           (SELECT stream_id FROM events WHERE type = 'OperatorActionStarted' AND data::text LIKE $1)
         ORDER BY position`,
        [`%${id}%`],
      )
      .finally(() => client.end());
    return rows as unknown[];
  }

  it('a key with a past expiry or an unknown type is refused', async () => {
    expectRefusal(await createKey('--expires-at', '2020-01-01T00:00:00Z'), /in the future/);
    expectRefusal(await createKey('--expires-at', 'tomorrow'), /ISO 8601/);
    expectRefusal(await createKey('--type', 'root'), /full_access, read_only, webhook_admin/);
  });

  it('each reason for a missing database is reported: not configured, not reachable, not migrated', async () => {
    const status = (env: Record<string, string>) => pis(['projections', 'status'], env);
    const none = path.join(scratch, 'none');
    expectRefusal(await status({ PIS_DATA_DIR: none }), `nothing runs on ${none}`);
    const away = { ...environment, DATABASE_URL: 'postgres://x:secret@127.0.0.1:1/none' };
    for (const command of [
      ['projections', 'status'],
      ['migrate'],
      ['organization', 'create', '--name', 'X'],
    ]) {
      const result = await pis(command, away);
      expectRefusal(result, 'ECONNREFUSED');
      expect(result.stderr).not.toContain('secret');
    }
    expectRefusal(await status({ DATABASE_URL: 'mysql://x' }), 'DATABASE_URL:');
    const empty = await emptyDatabase(database.url);
    try {
      const env = { ...environment, DATABASE_URL: empty.url };
      expectRefusal(await pis(['organization', 'create', '--name', 'X'], env), 'pis migrate');
      const { applied } = await pisJson<{ applied: string[] }>(['migrate'], env);
      expect(applied.length).toBeGreaterThan(0);
      expect(await pisJson(['migrate'], env)).toEqual({ applied: [] });
      await pisJson(['organization', 'create', '--name', 'X'], env);
    } finally {
      await empty.drop();
    }
  });
});

/** A database without any table beside the given one. */
async function emptyDatabase(url: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `empty_${randomUUID().replaceAll('-', '')}`;
  const run = async (sql: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`CREATE DATABASE ${name}`);
  const address = new URL(url);
  address.pathname = `/${name}`;
  return { url: address.href, drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`) };
}
