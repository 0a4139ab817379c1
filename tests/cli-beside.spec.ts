/** `pis` beside a running system and a Kafka. */
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { connectionOf } from '@pis/local-servers';
import { createTestDatabase, openTestPool, until } from '@pis/local-servers/testing';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { Api } from './support/api.js';
import { pis, pisJson, root, startProcess } from './support/process.js';
import { sessionOf } from './support/readme.js';
import { expectRefusal } from './support/refusal.js';
import { provision } from './support/systems.js';
import { readMessages, readTopics } from './support/topics.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const arrivalLimitMs = 60_000;
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('beside a running npm start, found through PIS_DATA_DIR', () => {
  let running: Awaited<ReturnType<typeof startProcess>>;
  let environment: Record<string, string>;

  beforeAll(async () => {
    environment = { PIS_DATA_DIR: path.join(scratch, 'data') };
    running = await startProcess(null, environment);
  });
  afterAll(() => running?.stop());

  it('projections are listed, and rebuilt while the system runs', async () => {
    const api = new Api(String(running.ready['apiUrl']), String(running.ready['apiKey']));
    const list = () => api.data<unknown[]>(200, 'GET', '/v1/originators/');
    const status = () => pisJson<{ lag: number }[]>(['projections', 'status'], environment);
    const caughtUp = await until(
      async () => {
        const all = await status();
        return all.every(({ lag }) => lag === 0) && all;
      },
      { timeoutMs: arrivalLimitMs },
    );
    expect(caughtUp).toEqual([
      { name: 'payments', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'directory', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'events', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'figures', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'movements', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'fees', position: expect.any(String), lag: 0, updatedAt: isoTime },
      { name: 'history', position: expect.any(String), lag: 0, updatedAt: isoTime },
    ]);
    const before = await list();
    expect(before).toHaveLength(2);

    const report = (projection: string) => ({
      projection,
      eventsRead: expect.any(Number),
      durationMs: expect.any(Number),
      eventsPerSecond: expect.any(Number),
    });
    const rebuilt = await pisJson(['projections', 'rebuild'], environment);
    expect(rebuilt).toEqual([
      report('payments'),
      report('directory'),
      report('events'),
      report('figures'),
      report('movements'),
      report('fees'),
      report('history'),
    ]);
    expect(await pisJson(['projections', 'rebuild', 'directory'], environment)).toEqual([
      report('directory'),
    ]);
    expect(await list()).toEqual(before);
    expectRefusal(
      await pis(['projections', 'rebuild', 'nope'], environment),
      /payments, directory/,
    );
  });

  it('a key works at once, and no longer soon after it was revoked', async () => {
    const { apiKeyId, apiKey } = await pisJson<{ apiKeyId: string; apiKey: string }>(
      [
        ...['api-key', 'create', '--type', 'read_only'],
        ...['--organization', String(running.ready['organizationId'])],
      ],
      environment,
    );
    const api = new Api(String(running.ready['apiUrl']), apiKey);
    const statusNow = async () => (await api.call('GET', '/v1/originators/')).status;
    expect(await statusNow()).toBe(200);
    await pisJson(['api-key', 'revoke', '--id', apiKeyId], environment);
    await until(async () => (await statusNow()) === 401, { timeoutMs: arrivalLimitMs });
  });

  it('dead letters are replayed to their group', async () => {
    const replay = ['dead-letters', 'replay', '--group', 'webhook-dispatcher'];
    expect(await pisJson(replay, environment)).toEqual({ replayed: 0 });
    const connectionString =
      connectionOf(path.join(scratch, 'data', 'postgres'), 'pis') ?? 'not running';
    const client = new pg.Client({ connectionString });
    await client.connect();
    try {
      // The message was parked before the organization had an endpoint, so it is done without a delivery.
      await client.query(
        `INSERT INTO dead_letters
             (consumer_group, topic, key, value, headers, "offset", attempts, error, parked_at)
           VALUES ('webhook-dispatcher', 'pis.payment-events.v1', 'payment-1', '{}',
                   '{"event-type":"other.event"}', '000000000001', 5, 'Error: parked', now())`,
      );
      expect(await pisJson(replay, environment)).toEqual({ replayed: 1 });
      const letters = 'SELECT error, parked_at FROM dead_letters';
      await until(
        async () => {
          const { rows } = await client.query<{ error: string }>(letters);
          return rows.length === 0 || rows[0]?.error !== 'Error: parked';
        },
        { timeoutMs: arrivalLimitMs },
      );
    } finally {
      await client.end();
    }
    expectRefusal(
      await pis(['dead-letters', 'replay', '--group', 'nobody'], environment),
      /rail-executor, webhook-dispatcher/,
    );
  });
});

describe('on Kafka', () => {
  const brokers = process.env['PIS_TEST_KAFKA_BROKERS'] ?? '';
  const prefix = `cli${randomUUID().slice(0, 8)}.`;
  const environment = { PIS_BROKER: 'kafka', KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix };

  interface Report {
    readonly topics: { topic: string; outcome: string; differences: string[] }[];
  }

  it('topics are created once, and a second run reports that nothing is left to do', async () => {
    const { topics } = await pisJson<Report>(['kafka', 'apply'], environment);
    expect(topics.map(({ topic }) => topic)).toContain(`${prefix}pis.payment-events.v1.dlq`);
    expect(new Set(topics.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
    const again = await pisJson<Report>(['kafka', 'apply'], environment);
    expect(again.topics).toEqual(
      topics.map(({ topic }) => ({
        topic,
        outcome: 'unchanged',
        differences: [],
        isAtRisk: false,
      })),
    );
  });

  it('in production a replication factor of 1 is refused unless requested', async () => {
    const production = {
      ...environment,
      KAFKA_PREFIX: `${prefix}production.`,
      PIS_ENVIRONMENT: 'production',
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    };
    const flags = ['--replication-factor', '1', '--min-insync-replicas', '1'];
    expectRefusal(await pis(['kafka', 'apply'], production), /fewer than 3 brokers/);
    const made = await pisJson<Report>(['kafka', 'apply', ...flags], production);
    expect(new Set(made.topics.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
    // The topics exist now, with one copy each.
    const { code, stderr } = await pis(['kafka', 'apply'], production);
    expect(code).toBe(1);
    expect(stderr).toMatch(/the loss of one broker may lose messages of/);
    expect((await pis(['kafka', 'apply', ...flags], production)).code).toBe(0);
  });

  it('a part of the log is published again, with the number of omitted events', async () => {
    const database = await createTestDatabase();
    const pool = openTestPool(database.url, 1);
    const env = {
      ...environment,
      KAFKA_PREFIX: `${prefix}replay.`,
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    };
    await pisJson(['kafka', 'apply'], env);
    await provision(env);
    // As if a newer release had written it.
    await pool.query(
      `UPDATE events SET type = 'ContactEaten', stream_id = 'contact-1'
       WHERE type = 'OrganizationCreated'`,
    );
    const range = ['--from', 'beginning', '--to', 'end', '--topic', 'pis.directory-events.v1'];
    const replay = () => pisJson<unknown>(['relay', 'replay', ...range], env);
    const report = { published: 1, skipped: 0, heldStreams: 1, heldEvents: 1 };
    expect([await replay(), await replay()]).toEqual([report, report]);
    const sent = (await readTopics(env)).split('\n');
    expect(sent).toHaveLength(2);
    expect(new Set(sent).size).toBe(1);
    expect(sent[0]).toContain('originator.created');

    const history = 'billing.history';
    const build = () => {
      const { status: code, ...said } = spawnSync(
        'bash',
        ['--norc', '-e', '-c', `${sessionOf('history', 'docs/history.md')} --json`],
        {
          ...{ cwd: root, encoding: 'utf8', timeout: arrivalLimitMs },
          env: { PATH: process.env['PATH'], ...env, HISTORY: history },
        },
      );
      return { code, ...said };
    };
    const built = build();
    expect({ ...(JSON.parse(built.stdout) as object), code: built.code }).toEqual({
      ...report,
      code: 0,
    });
    const messages = async () =>
      (await readMessages(env)).filter(({ topic }) => topic === history).map(({ value }) => value);
    const [first = ''] = await messages();
    expect(sent[0]).toContain(first);
    expect(JSON.parse(first)).toMatchObject({ eventType: 'originator.created' });
    // Nothing is published twice by mistake, and after a failure it goes on where it was told to.
    const written = `1 messages were written to ${env.KAFKA_PREFIX}${history}`;
    expectRefusal(build(), `${written}: choose another name, or go on with --append`);
    const into = [...range.slice(0, 4), '--topic', history, '--append'];
    expect(await pisJson(['relay', 'replay', ...into], env)).toEqual(report);
    expect(await messages()).toEqual([first, first]);
    const early = [
      '--from',
      '2020-01-01T00:00:00Z',
      '--to',
      '2020-01-02T00:00:00Z',
      ...range.slice(4),
    ];
    expectRefusal(
      await pis(['relay', 'replay', ...early], env),
      'the log has no event after --from',
    );
    const deadLetters = [...range.slice(0, 4), '--topic', 'pis.payment-events.v1.dlq'];
    expectRefusal(
      await pis(['relay', 'replay', ...deadLetters], env),
      'is a topic of dead letters',
    );
    // The live topic of a system that has another prefix.
    for (const live of ['other.pis.payment-events.v1', 'other.pis.payment-events.v1.dlq'])
      expectRefusal(
        await pis(['relay', 'replay', ...range.slice(0, 4), '--topic', live, '--append'], env),
        'ends like a topic of a relay',
      );
    await pool.end();
    await database.drop();
  });

  it('without brokers, or with unavailable brokers, the error names them', async () => {
    expectRefusal(await pis(['kafka', 'apply'], { PIS_BROKER: 'kafka' }), 'KAFKA_BROKERS');
    const away = { ...environment, KAFKA_BROKERS: '127.0.0.1:1' };
    expectRefusal(await pis(['kafka', 'apply'], away), '127.0.0.1:1');
  });

  it("a group's dead letters are published again, for that group alone, once", async () => {
    const database = await createTestDatabase();
    const env = { ...environment, DATABASE_URL: database.url };
    try {
      await park('rail-executor', { parked: 'for the executor' });
      await park('webhook-dispatcher', { parked: 'for the dispatcher' });
      const list = async (...args: string[]) =>
        (await pisJson<{ data: unknown[] }>(['dead-letters', 'list', ...args], env)).data;
      const letterOf = (group: string) => ({
        group,
        topic: 'pis.payment-events.v1',
        key: 'payment-1',
        offset: '0/0',
        attempts: 5,
        error: 'Error: parked',
        parkedAt: expect.stringMatching(/^20.*Z$/) as string,
      });
      const [executors, dispatchers] = [letterOf('rail-executor'), letterOf('webhook-dispatcher')];
      expect(await list()).toEqual([executors, dispatchers]);
      const replay = ['dead-letters', 'replay', '--group', 'rail-executor'];
      expect(await pisJson(replay, env)).toEqual({ replayed: 1 });
      expect(await list()).toEqual([dispatchers]);
      expect(await list('--group', 'rail-executor')).toEqual([]);
      expect(await pisJson(replay, env)).toEqual({ replayed: 0 });
      const texts = (await readTopics(environment)).split('\n');
      const published = texts.filter((text) => text.includes('replay-for-group=rail-executor'));
      expect(published).toHaveLength(1);
      expect(published[0]).toContain('for the executor');
    } finally {
      await database.drop();
    }
  });

  /** Parks a message like the transport: see operations.md. */
  async function park(group: string, value: unknown): Promise<void> {
    const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({
      topic: `${prefix}pis.payment-events.v1.dlq`,
      messages: [
        {
          key: 'payment-1',
          value: JSON.stringify(value),
          headers: {
            'dead-letter-group': group,
            'dead-letter-topic': 'pis.payment-events.v1',
            'dead-letter-partition': '0',
            'dead-letter-offset': '0',
            'dead-letter-attempts': '5',
            'dead-letter-error': 'Error: parked',
          },
        },
      ],
    });
    await producer.disconnect();
  }
});
