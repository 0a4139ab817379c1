/** The commands of `pis` on the event log: quarantine, consumers, relay. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
  // Events to stand on.
  for (const name of ['one', 'two', 'three']) await json('organization', 'create', '--name', name);
  await cli.pool.query(
    `INSERT INTO consumer_checkpoints (consumer_group, position, event_id, stream_id, revision, updated_at)
     SELECT g.name, e.position, e.id, e.stream_id, e.revision, now()
     FROM (VALUES ('rail-executor', 1), ('webhook-dispatcher', 2)) g(name, position)
     JOIN (SELECT lpad(position::text, 20, '0') AS position, position AS n, id, stream_id, revision FROM events) e
       ON e.n = g.position`,
  );
});
afterAll(() => cli?.end());

const json = (...args: string[]) => pisJson<unknown>(args, cli.environment);
const plain = (...args: string[]) => pis(args, cli.environment);
const positionAt = (n: number) => String(n).padStart(20, '0');

async function positions(): Promise<Record<string, string>> {
  const { rows } = await cli.pool.query<{ consumer_group: string; position: string }>(
    'SELECT consumer_group, position FROM consumer_checkpoints',
  );
  return Object.fromEntries(rows.map((row) => [row.consumer_group, row.position]));
}

function fileOf(content: unknown): string {
  const file = path.join(cli.scratch, `${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

it('consumers list shows the position of each reader, and whether the log has its event', async () => {
  expect(await json('consumers', 'list')).toMatchObject({
    data: [
      { reader: 'rail-executor', position: positionAt(1), logHasIt: true },
      { reader: 'webhook-dispatcher', position: positionAt(2), logHasIt: true },
    ],
  });
});

it('consumers export and import carry checkpoints, and refuse those of another log', async () => {
  const exported = (await json('consumers', 'export')) as { consumers: { eventId: string }[] };
  expect(exported.consumers).toHaveLength(2);
  await json('consumers', 'reset', '--to', 'beginning');
  expect(await positions()).toEqual({ 'rail-executor': '', 'webhook-dispatcher': '' });

  const foreign = exported.consumers.map((one) => ({ ...one, eventId: randomUUID() }));
  const file = fileOf({ consumers: foreign });
  expectRefusal(await plain('consumers', 'import', '--file', file), /belong to another log/);
  expect(await positions()).toEqual({ 'rail-executor': '', 'webhook-dispatcher': '' });

  await json('consumers', 'import', '--file', fileOf(exported), '--reason', 'moved');
  expect(await positions()).toEqual({
    'rail-executor': positionAt(1),
    'webhook-dispatcher': positionAt(2),
  });
  const [one] = exported.consumers;
  for (const wrong of [{}, { ...one, kindsRead: { 'statement-': 2 } }])
    expectRefusal(
      await plain('consumers', 'import', '--file', fileOf({ consumers: [wrong] })),
      /is not an output of pis consumers export/,
    );
  const secret = path.join(cli.scratch, 'secret');
  writeFileSync(secret, 'hunter2');
  const refused = await plain('consumers', 'import', '--file', secret);
  expectRefusal(refused, /is not JSON/);
  expect(refused.stderr).not.toContain('hunter2');
});

it('consumers reset accepts a position or a time, and reports what will be read', async () => {
  const { rows } = await cli.pool.query<{ at: string }>(
    `SELECT metadata->>'at' AS at FROM events WHERE position = 2`,
  );
  expect(
    await json('consumers', 'reset', 'rail-executor', '--to', rows[0]?.at ?? ''),
  ).toMatchObject({ moved: [{ reader: 'rail-executor', to: positionAt(1) }] });
  const moved = await json('consumers', 'reset', 'rail-executor', '--to', '2');
  expect(moved).toMatchObject({ moved: [{ from: positionAt(1), to: positionAt(2) }] });
  const beyond = await plain('consumers', 'reset', 'rail-executor', '--to', '999999');
  expectRefusal(beyond, /the log ends at/);
  const nonsense = await plain('consumers', 'reset', 'rail-executor', '--to', 'yesterday');
  expectRefusal(nonsense, /neither a position nor an ISO 8601 time/);
});

it('relay rewind moves the relay, recorded with actor and reason', async () => {
  const moved = await json(
    ...['relay', 'rewind', '--to', '1', '--actor', 'ada', '--reason', 'topics were lost'],
  );
  expect(moved).toMatchObject({ moved: [{ reader: 'event-relay', to: positionAt(1) }] });
  const { rows } = await cli.pool.query<{ data: object }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position DESC LIMIT 1`,
  );
  expect(rows[0]?.data).toMatchObject({
    action: 'relay rewind',
    actor: 'ada',
    reason: 'topics were lost',
  });
});

it('on Kafka, a reset moves the relay and the recorded positions of the groups', async () => {
  const onKafka = { ...cli.environment, PIS_BROKER: 'kafka', KAFKA_BROKERS: '127.0.0.1:1' };
  const reset = ['consumers', 'reset', '--to', '2'];
  await pisJson(reset, onKafka);
  expect(await positions()).toEqual({
    'event-relay': positionAt(2),
    'rail-executor': positionAt(2),
    'webhook-dispatcher': positionAt(2),
  });
  expectRefusal(
    await pis(['consumers', 'reset', 'rail-executor', '--to', '2'], onKafka),
    /only event-relay reads the log/,
  );
});

it('quarantine skip needs a reason and an event that is in quarantine', async () => {
  expect(await json('quarantine', 'list')).toEqual({ data: [] });
  const eventId = randomUUID();
  const skip = ['quarantine', 'skip', '--event', eventId];
  expectRefusal(await plain(...skip), /required option '--reason/);
  expectRefusal(await plain(...skip, '--reason', 'x'), /is not in quarantine/);
  await cli.pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason)
     VALUES ('event-relay', 'payment-1', 0, '1', $1, 'InvoicePaid', 'unknown type of event')`,
    [eventId],
  );
  expect(await json('quarantine', 'list')).toMatchObject({
    data: [{ reader: 'event-relay', streamId: 'payment-1', eventId }],
  });
  expect(await json(...skip, '--reason', 'of the billing system')).toEqual({
    eventId,
    streamId: 'payment-1',
    readers: ['event-relay'],
  });
  expect(await json('quarantine', 'retry')).toEqual({ requested: 1 });
});
