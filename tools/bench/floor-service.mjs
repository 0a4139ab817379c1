/**
 * A program in place of the service that does only the input and output of a payment with three webhooks, and nothing with
 * what it reads and writes: no validation, tenants, encryption, hashes, state, retries, lists or bank. It keeps what
 * it would lose otherwise: each step is durable before the next one, and steps of the same kind share a statement.
 *
 * For each payment: a request; three events in a log, each of them read back; a row of a list that follows them; two messages
 * to and from a bank; for each event a delivery, its signed POST over TLS and its outcome. At a low rate these are 17
 * statements. Sizes are those of the service (docs/scaling.md).
 *
 * Arguments: the URL of the database, that of the endpoint, and the file of its authority.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { GroupCommit } from '@pis/postgres';
import Fastify from 'fastify';
import pg from 'pg';
import { Pool } from 'undici';

const [databaseUrl, endpoint, caFile] = process.argv.slice(2);
const eventTypes = ['payment.queued', 'payment.processing', 'payment.completed'];
const bytes = { firstEvent: 2_700, laterEvent: 800, row: 1_000, message: 2_600, body: 700 };
const connections = 64;
const secret = randomBytes(32).toString('hex');

const database = new pg.Pool({ connectionString: databaseUrl, max: 12 });
const client = new Pool(new URL(endpoint).origin, {
  connections,
  pipelining: 1,
  connect: { ca: readFileSync(caFile) },
});

await database.query(`
  CREATE TABLE floor_events (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id uuid UNIQUE, data text);
  CREATE TABLE floor_payments (id uuid PRIMARY KEY, step int, data text);
  CREATE TABLE floor_messages (id uuid PRIMARY KEY, data text);
  CREATE TABLE floor_deliveries (id uuid PRIMARY KEY, body text, outcome int)`);

const events = batched(
  'events',
  `INSERT INTO floor_events (id, data) SELECT * FROM unnest($1::uuid[], $2::text[])`,
);
const log = batched('log', 'SELECT position, data FROM floor_events WHERE id = ANY($1::uuid[])');
const payments = batched(
  'payments',
  `INSERT INTO floor_payments (id, step, data) SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[])
   ON CONFLICT (id) DO UPDATE SET step = excluded.step, data = excluded.data`,
);
const messages = batched(
  'messages',
  `INSERT INTO floor_messages (id, data) SELECT * FROM unnest($1::uuid[], $2::text[])`,
);
const deliveries = batched(
  'deliveries',
  `INSERT INTO floor_deliveries (id, body) SELECT * FROM unnest($1::uuid[], $2::text[])`,
);
const outcomes = batched(
  'outcomes',
  `UPDATE floor_deliveries d SET outcome = o.status
     FROM unnest($1::uuid[], $2::int[]) AS o (id, status) WHERE d.id = o.id`,
);

/** Rows by their first column, many in one statement; returns `(...columns) => Promise`. */
function batched(name, text) {
  const commit = new GroupCommit({
    batchMax: 500,
    keyOf: ([id]) => id,
    isItemsFault: () => false,
    async write(rows) {
      const values = rows[0].map((_, column) => rows.map((row) => row[column]));
      await database.query({ name: `floor-${name}`, text, values });
      return rows;
    },
  });
  return (...columns) => commit.add(columns);
}

/** Text that does not compress, as ciphertext. */
const opaque = (length) => randomBytes(Math.ceil((length * 3) / 4)).toString('base64url');

async function recordEvent(length) {
  const id = randomUUID();
  await events(id, opaque(length));
  return id;
}

async function follow(paymentId, eventId, step) {
  await log(eventId);
  await Promise.all([payments(paymentId, step, opaque(bytes.row)), deliver(paymentId, step)]);
}

async function deliver(paymentId, step) {
  const id = randomUUID();
  const eventType = eventTypes[step];
  const body = JSON.stringify({ eventType, data: { paymentId, note: opaque(bytes.body) } });
  await deliveries(id, body);
  const timestamp = new Date().toISOString();
  const signature = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  const answer = await client.request({
    ...{ method: 'POST', path: new URL(endpoint).pathname, body },
    headers: {
      'content-type': 'application/json',
      'x-webhook-signature-256': `sha256=${signature}`,
      'x-webhook-timestamp': timestamp,
    },
  });
  await answer.body.dump();
  await outcomes(id, answer.statusCode);
}

async function execute(paymentId, queued) {
  const first = follow(paymentId, queued, 0);
  await messages(randomUUID(), opaque(bytes.message));
  const processing = await recordEvent(bytes.laterEvent);
  const second = first.then(() => follow(paymentId, processing, 1));
  await messages(randomUUID(), opaque(bytes.message));
  const completed = await recordEvent(bytes.laterEvent);
  await second;
  await follow(paymentId, completed, 2);
}

const server = Fastify();
server.post('/v1/payments/', async (_request, reply) => {
  const paymentId = randomUUID();
  const queued = await recordEvent(bytes.firstEvent);
  execute(paymentId, queued).catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
  return reply.code(201).send({ data: { paymentId } });
});
// What the bench also asks for.
server.get('/v1/originators/', async () => ({ data: [{ originatorId: randomUUID() }] }));
server.post('/v1/contacts/', async () => ({ data: { contactId: randomUUID() } }));
server.post('/v1/webhooks', async () => ({ data: { id: randomUUID() } }));
server.delete('/v1/webhooks/:id', async () => ({ data: {} }));
await server.listen({ port: 0, host: '127.0.0.1' });
process.send({ url: `http://127.0.0.1:${server.server.address().port}` });
process.once('disconnect', () => process.exit(0));
