/** The lists of `pis` that staff work through: each is whole, however long it is. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { jest } from '@jest/globals';
import { railReferenceOf } from '@pis/bank-rails';
import { postgresEventStore, systemContext } from '@pis/event-store';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson, root } from './support/process.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

/** More than are read from a table at a time, and more than a screen would show. */
const rowsMade = 1_203;
const at = '2026-11-20T15:00:00.000Z';

let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
});
afterAll(() => cli?.end());

async function listed(...command: readonly string[]) {
  return (await pisJson<{ data: Record<string, unknown>[] }>(command, cli.environment)).data;
}

const numbers = Array.from({ length: rowsMade }, (_, index) => String(index + 1));

it('every unmatched notification of a bank, the oldest first', async () => {
  await cli.pool.query(
    `INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at, reason)
     SELECT 'bank', n, 'of-' || n, 'confirmed', now(), now() + n * interval '1 second', 'the reason'
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const sequences = (await listed('rails', 'notifications', 'list')).map((one) => one['sequence']);
  expect(sequences).toEqual(numbers);
});

it('every stream in quarantine, the oldest first', async () => {
  await cli.pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason, held_since)
     SELECT 'event-relay', 'payment-' || n, 0, '1', gen_random_uuid(), 'InvoicePaid', 'unknown type of event',
            now() + n * interval '1 second'
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const streams = (await listed('quarantine', 'list')).map((one) => one['streamId']);
  expect(streams).toEqual(numbers.map((number) => `payment-${number}`));
});

it('a reader that has seen enough ends the list without a word', async () => {
  const command = `"${process.execPath}" apps/cli/bin/pis.mjs quarantine list | head -n 1`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', command], {
    cwd: root,
    env: { ...process.env, ...cli.environment },
  });
  expect(stdout).toBe('reader: event-relay\n');
  expect(stderr).toBe('');
});

it('output that cannot be written is a failure with its reason', async () => {
  for (const list of ['quarantine list', 'consumers list']) {
    const command = `"${process.execPath}" apps/cli/bin/pis.mjs ${list} --json > /dev/full`;
    const env = { ...process.env, ...cli.environment };
    const failed = promisify(execFile)('bash', ['-c', command], { cwd: root, env });
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^pis: cannot write the output: ENOSPC.*\n$/) as string,
    });
  }
});

it('every erasure that has not ended, the oldest first', async () => {
  await cli.pool.query(
    `INSERT INTO party_erasures (kind, party_id, phase, since, position)
     SELECT 'contact', lpad(n::text, 32, '0')::uuid, 'requested', now() + n * interval '1 second', ''
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const ids = (await listed('erasures', 'list')).map((one) => Number(String(one['id']).slice(-12)));
  expect(ids).toEqual(numbers.map(Number));
});

it('every dead letter of the embedded broker, of each group the oldest first', async () => {
  const park = (group: string, rows: number) =>
    cli.pool.query(
      `INSERT INTO dead_letters (consumer_group, topic, key, value, headers, "offset", attempts, error, parked_at)
       SELECT $1, 'pis.payment-events.v1', 'payment-1', '{"name":"Ada"}', '{}', lpad(n::text, 12, '0'), 8, 'Error: ' || n, $3
         FROM generate_series(1, $2::int) n`,
      [group, rows, at],
    );
  await park('webhook-dispatcher', rowsMade);
  await park('rail-executor', 1);
  const letter = { topic: 'pis.payment-events.v1', key: 'payment-1', attempts: 8, parkedAt: at };
  const first = { ...letter, offset: '000000000001', error: 'Error: 1' };
  const all = await listed('dead-letters', 'list');
  expect(all).toHaveLength(rowsMade + 1);
  expect(all.slice(0, 2)).toEqual([
    { group: 'rail-executor', ...first },
    { group: 'webhook-dispatcher', ...first },
  ]);
  const some = await listed('dead-letters', 'list', '--group', 'webhook-dispatcher');
  expect(some.map(({ error }) => error)).toEqual(numbers.map((number) => `Error: ${number}`));
});

describe('rails files list', () => {
  const list = (...args: string[]) =>
    pisJson<{ data: { id: string; name: string }[]; nextAfter?: string }>(
      ['rails', 'files', 'list', ...args],
      cli.environment,
    );

  it('says that older files are left, and after which one', async () => {
    await cli.pool.query(
      `INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes)
       SELECT gen_random_uuid(), 'bank', 'ACH', 'out', 'nacha', 'file-' || n, sha256(n::text::bytea), 1
         FROM generate_series(1, $1::int) n`,
      [rowsMade],
    );
    const newest = await list();
    expect(newest.nextAfter).toBe(newest.data.at(-1)?.id);
    const rest = await list('--after', String(newest.nextAfter));
    expect(rest.nextAfter).toBeUndefined();
    const names = [...newest.data, ...rest.data].map(({ name }) => name);
    expect(names).toEqual(numbers.map((number) => `file-${number}`).reverse());
    const told = await pis(['rails', 'files', 'list'], cli.environment);
    expect(told.stderr).toContain(`--after ${newest.nextAfter}`);
  });

  it('refuses to go on after a file that is not there: its end would look like that of the list', async () => {
    const { code, stderr } = await pis(
      ['rails', 'files', 'list', '--after', randomUUID()],
      cli.environment,
    );
    expect(stderr).toContain('no file has this ID');
    expect(code).toBe(1);
  });
});

/** Of another system. */
async function appendForeign(streamId: string): Promise<void> {
  const store = postgresEventStore({ pool: cli.pool });
  const metadata = { ...systemContext('test'), schemaVersion: 1, at, previousHash: null };
  const [last] = await store.readStream(streamId, {
    direction: 'backwards',
    maxCount: 1,
    leaveSealed: true,
  });
  await store.append(streamId, last?.revision ?? 'noStream', [
    { id: randomUUID(), type: 'InvoicePaid', data: {}, metadata },
  ]);
  await store.close();
}

const foreignReason = expect.stringContaining('InvoicePaid: unknown type of event') as string;

describe('an item that cannot be read is listed with the reason beside the others, and the exit code is 1', () => {
  let organizationId: string;
  beforeAll(async () => {
    const create = ['organization', 'create', '--name', 'Acme'];
    ({ organizationId } = await pisJson<{ organizationId: string }>(create, cli.environment));
  });

  it('an API key', async () => {
    const createIn = (id: string) =>
      pisJson<{ apiKeyId: string }>(
        ['api-key', 'create', '--organization', id, '--type', 'read_only'],
        cli.environment,
      );
    const [damaged, whole] = [await createIn(organizationId), await createIn(organizationId)];
    const streamOf = async (apiKeyId: string) => {
      const { rows } = await cli.pool.query<{ id: string }>(
        "SELECT stream_id AS id FROM events WHERE type = 'ApiKeyCreated' AND data ->> 'apiKeyId' = $1",
        [apiKeyId],
      );
      return rows[0]?.id ?? '';
    };
    await appendForeign(await streamOf(damaged.apiKeyId));
    const list = (id: string) =>
      pis(['api-key', 'list', '--organization', id, '--json'], cli.environment);
    const { code, stdout, stderr } = await list(organizationId);
    expect(JSON.parse(stdout)).toEqual([
      { apiKeyId: damaged.apiKeyId, unreadable: foreignReason },
      expect.objectContaining({ apiKeyId: whole.apiKeyId, revokedAt: null }),
    ]);
    expect(stderr).toMatch(/1 of these keys cannot be read/);
    expect(code).toBe(1);

    const create = ['organization', 'create', '--name', 'Other'];
    const other = await pisJson<{ organizationId: string }>(create, cli.environment);
    expect(await list(other.organizationId)).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  it('a user', async () => {
    const createUser = (name: string) =>
      pis(
        [
          ...['user', 'create', '--organization', organizationId, '--role', 'admin', '--json'],
          ...['--email', `${name}@example.com`],
        ],
        cli.environment,
        'correct horse battery\n',
      ).then(({ stdout }) => JSON.parse(stdout) as { userId: string });
    const [damaged, whole] = [await createUser('ada'), await createUser('bob')];
    await appendForeign(`user-${damaged.userId}`);
    const list = ['user', 'list', '--organization', organizationId, '--json'];
    const { code, stdout, stderr } = await pis(list, cli.environment);
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ userId: whole.userId, email: 'bob@example.com' }),
      { userId: damaged.userId, unreadable: foreignReason },
    ]);
    expect(stderr).toMatch(/1 of these users cannot be read/);
    expect(code).toBe(1);
  });
});

it('every organization is listed with its name, the oldest first, also beside one that cannot be read', async () => {
  const create = async (name: string) =>
    (
      await pisJson<{ organizationId: string }>(
        ['organization', 'create', '--name', name],
        cli.environment,
      )
    ).organizationId;
  const first = await create('First List');
  const damaged = randomUUID();
  await appendForeign(`organization-${damaged}`);
  const last = await create('Last List');
  const { code, stdout, stderr } = await pis(['organization', 'list', '--json'], cli.environment);
  const { data } = JSON.parse(stdout) as { data: Record<string, unknown>[] };
  expect(
    data.filter(({ organizationId }) => [first, damaged, last].includes(String(organizationId))),
  ).toEqual([
    { organizationId: first, name: 'First List', createdAt: expect.any(String) as string },
    { organizationId: damaged, unreadable: foreignReason },
    { organizationId: last, name: 'Last List', createdAt: expect.any(String) as string },
  ]);
  expect(stderr).toMatch(/1 of these organizations cannot be read/);
  expect(code).toBe(1);
});

it('a payment in doubt that cannot be read is listed with the reason, and the exit code is 1', async () => {
  const paymentId = randomUUID();
  await appendForeign(`payment-${paymentId}`);
  const reference = railReferenceOf(paymentId);
  await cli.pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at, connection)
     VALUES ($1, $2, 'ACH', 'in_flight', now(), now(), 'bank')`,
    [paymentId, reference],
  );
  const { code, stdout, stderr } = await pis(['payments', 'in-doubt', '--json'], cli.environment);
  expect(JSON.parse(stdout)).toMatchObject({
    data: [
      {
        ...{ paymentId, reference },
        unreadable: foreignReason,
      },
    ],
  });
  expect(stderr).toMatch(/1 of these payments cannot be read/);
  expect(code).toBe(1);
  // Its own command says where to read on.
  const shown = await pis(['payments', 'show', '--id', paymentId], cli.environment);
  expect(shown.stderr).toMatch(
    /InvoicePaid: unknown type of event .*PisStreamsQuarantined in docs.runbooks.log\.md/,
  );
  expect(shown.code).toBe(1);
});
