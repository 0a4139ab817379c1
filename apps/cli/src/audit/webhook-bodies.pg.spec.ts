/** Bodies of webhooks that are not, or no longer, what the log gives. */
import { randomUUID } from 'node:crypto';
import type { DomainEvent } from '@pis/domain';
import { paymentEvents } from '@pis/domain/testing';
import { type EventStore, postgresEventStore, StoreUnavailable } from '@pis/event-store';
import { pastWebhookEvents } from '@pis/integration';
import { paymentStream, queuedIn, unknownEvent } from '@pis/integration/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { appendEvents } from '@pis/read-models/testing';
import {
  deliveryIdOf,
  DeliveryTable,
  eraseFromDeliveries,
  bodyHashOf,
  type FanOut,
} from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import type pg from 'pg';
import { auditWebhookBodies } from './webhook-bodies.js';

const [one, other] = [paymentStream('a'), paymentStream('b')];
const organizationId = randomUUID();
const dayMs = 24 * 3_600_000;

let database: TestDatabase;
const log = {} as { pool: pg.Pool; store: EventStore };
/** In the order of the log. */
let fannedOut: FanOut[];

beforeEach(async () => {
  database = await createTestDatabase();
  log.pool = openTestPool(database.url, 4);
  log.store = postgresEventStore({ pool: log.pool });
  const { processing, completed } = paymentEvents;
  await append(one, queuedIn(one), processing, completed);
  await append(other, queuedIn(other), processing);
  const refs = await Promise.all(
    [[one, 0] as const, [one, 1] as const, [one, 2] as const, [other, 0] as const].map(
      async ([streamId, revision]) => ({ streamId, eventId: await recordedId(streamId, revision) }),
    ),
  );
  const events = await pastWebhookEvents(log.store, log.pool, refs);
  fannedOut = events.map((event, index) => {
    const { streamId, eventId } = refs[index] ?? { streamId: '', eventId: '' };
    const envelope = paymentEnvelope(event);
    const endpointId = randomUUID();
    return {
      ...{ eventId, organizationId, eventType: event.eventType, traceparent: null },
      paymentId: streamId.replace('payment-', ''),
      occurredAt: new Date(event.occurredAt),
      ...{ body: JSON.stringify(envelope), bodyHash: bodyHashOf(envelope) },
      // In time: their bodies are stored with the event.
      createdAt: new Date(event.occurredAt),
      windowEndsAt: new Date(Date.now() + dayMs),
      receivers: [{ endpointId, deliveryId: deliveryIdOf(eventId, endpointId) }],
    };
  });
  for (const [index, { streamId, eventId }] of refs.entries())
    await log.pool.query(
      `INSERT INTO integration_events (organization_id, position, event_id, event_type, stream_id,
          revision, payment_id, occurred_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8`,
      [
        ...[organizationId, String(index).padStart(20, '0'), eventId, fannedOut[index]?.eventType],
        ...[streamId, index === 3 ? 0 : index, fannedOut[index]?.paymentId],
        fannedOut[index]?.occurredAt,
      ],
    );
  await store(fannedOut);
});
afterEach(async () => {
  await log.store.close();
  await log.pool.end();
  await database.drop();
});

async function append(streamId: string, ...events: readonly DomainEvent[]): Promise<void> {
  await appendEvents(log.store, streamId, events);
}

async function recordedId(streamId: string, revision: number): Promise<string> {
  const [event] = await log.store.readStream(streamId, { from: revision, maxCount: 1 });
  return event?.id ?? '';
}

async function store(fanOuts: readonly FanOut[]): Promise<void> {
  const table = new DeliveryTable(log.pool, randomUUID());
  await table.insert(fanOuts.map((fanOut) => ({ fanOut, leasedUntil: [null] })));
}

async function audit(store = log.store) {
  const found: string[] = [];
  const at: string[] = [];
  const report = await auditWebhookBodies({
    ...{ store, pool: log.pool, onPage: () => undefined, settleMaxMs: 0 },
    onDifference({ table, row, differs, stream, revision }) {
      found.push(`${table} ${row}: ${differs}`);
      if (stream !== undefined) at.push(`${row} at ${stream} ${revision}`);
    },
  });
  return { ...report, found, at };
}

const idOf = (index: number) => fannedOut[index]?.eventId ?? '';

it('bodies that are what the log gives are compared, and nothing is found', async () => {
  // Handled again.
  await store(fannedOut);
  expect(await audit()).toEqual({
    ...{ compared: 4, stored: 4, ofOtherShape: 0, missing: 0, unknown: 0 },
    ...{ found: [], at: [] },
  });
});

it('a hash that was changed is found, and so is a body', async () => {
  const body = (fannedOut[1]?.body ?? '').replace('"paymentAmount":', '"paymentAmount":1');
  await log.pool.query('UPDATE webhook_fan_outs SET body = $2 WHERE event_id = $1', [
    idOf(1),
    body,
  ]);
  await log.pool.query(
    `UPDATE webhook_body_hashes SET hash = decode('${'00'.repeat(32)}', 'hex') WHERE event_id = $1`,
    [idOf(0)],
  );
  const altered = 'the stored webhook body is not the one that was hashed';
  expect((await audit()).found.toSorted()).toEqual(
    [
      `webhook_body_hashes ${idOf(0)}: the webhook body is not the one that the log gives`,
      `webhook_fan_outs ${idOf(0)}: ${altered}`,
      `webhook_fan_outs ${idOf(1)}: ${altered}`,
    ].toSorted(),
  );
});

it('the erasure of a party changes no hash', async () => {
  await log.pool.query(
    'UPDATE webhook_fan_outs SET body = replace(body, \'"originator":\', \'"originator":\')',
  );
  const before = await audit();
  const parties = fannedOut.flatMap(({ body }) => {
    const { data } = JSON.parse(body) as { data: Record<string, { id: string } | null> };
    return [data['originator']?.id, data['contact']?.id].flatMap((id) => id ?? []);
  });
  for (const partyId of new Set(parties))
    await eraseFromDeliveries(
      log.pool,
      {
        paymentIds: fannedOut.flatMap(({ paymentId }) => paymentId ?? []),
        events: fannedOut.map(({ eventId, occurredAt }) => ({
          ...{ eventId, occurredAt: occurredAt.toISOString() },
        })),
      },
      { partyId, organizationId },
    );
  const { rows } = await log.pool.query<{ body: string }>('SELECT body FROM webhook_fan_outs');
  expect(rows.every(({ body }) => body.includes('"erased":true'))).toBe(true);
  expect(await audit()).toEqual(before);
});

/** Hashes are written since then. */
async function hashedSince(daysAgo: number): Promise<void> {
  const { rowCount } = await log.pool.query(
    `UPDATE _prisma_migrations SET finished_at = $1::timestamptz - $2 * interval '1 day'
      WHERE migration_name LIKE '%webhook_body_hashes'`,
    [fannedOut[0]?.occurredAt, daysAgo],
  );
  expect(rowCount).toBe(1);
}

it('a hash that was removed while the fan-out is still recorded is found', async () => {
  await hashedSince(2);
  await log.pool.query('DELETE FROM webhook_body_hashes WHERE event_id = $1', [idOf(2)]);
  expect(await audit()).toMatchObject({
    ...{ missing: 1, unknown: 0 },
    found: [`webhook_body_hashes ${idOf(2)}: the hash of a webhook body is missing`],
  });
});

it('the removal of all hashes is found', async () => {
  await hashedSince(2);
  await log.pool.query('DELETE FROM webhook_body_hashes');
  expect(await audit()).toMatchObject({ compared: 0, missing: 4 });
});

it('a release without hashes may run for a day beside one with them', async () => {
  await hashedSince(0.5);
  await log.pool.query('DELETE FROM webhook_body_hashes');
  expect(await audit()).toMatchObject({ missing: 0, found: [] });
});

it('all missing and all unknown hashes are counted and reported, however many there are', async () => {
  await hashedSince(2);
  await log.pool.query('DELETE FROM webhook_body_hashes WHERE event_id = $1', [idOf(0)]);
  await log.pool.query(
    `INSERT INTO webhook_fan_outs SELECT gen_random_uuid(), occurred_at, organization_id, NULL, NULL, created_at
      FROM webhook_fan_outs CROSS JOIN generate_series(1, 1234) WHERE event_id = $1`,
    [idOf(0)],
  );
  await log.pool.query(
    `INSERT INTO webhook_body_hashes SELECT occurred_at - interval '2 days', gen_random_uuid(), shape, hash
      FROM webhook_body_hashes CROSS JOIN generate_series(1, 2345) WHERE event_id = $1`,
    [idOf(1)],
  );
  const { missing, unknown, found } = await audit();
  expect({ missing, unknown }).toEqual({ missing: 1235, unknown: 2345 });
  expect(found).toHaveLength(1235 + 2345);
});

it('the hash of a body with other fields is counted, not compared', async () => {
  await log.pool.query('UPDATE webhook_body_hashes SET shape = 2 WHERE event_id = $1', [idOf(0)]);
  expect(await audit()).toMatchObject({ compared: 3, stored: 3, ofOtherShape: 1, found: [] });
});

it('an event that this release cannot read is a finding, and does not hide those of other streams', async () => {
  const events = await log.store.readStream(other);
  expect(events).toHaveLength(2);
  const unreadable = paymentStream('c');
  await append(unreadable, unknownEvent);
  const eventId = await recordedId(unreadable, 0);
  await log.pool.query(
    `INSERT INTO integration_events SELECT organization_id, '9', $1, event_type, $2, 0, NULL, occurred_at
      FROM integration_events WHERE event_id = $3`,
    [eventId, unreadable, idOf(0)],
  );
  await log.pool.query(
    `INSERT INTO webhook_body_hashes SELECT occurred_at, $1, shape, hash FROM webhook_body_hashes
      WHERE event_id = $2`,
    [eventId, idOf(0)],
  );
  expect((await audit()).found).toEqual([
    `webhook_body_hashes ${eventId}: the webhook body cannot be computed: the log has an event that cannot be read`,
  ]);
});

const hashUnknown = 'the index of events has no event for this webhook body';

async function addHash(occurredAt: string): Promise<string> {
  const eventId = randomUUID();
  await log.pool.query(
    'INSERT INTO webhook_body_hashes SELECT $1, $2, shape, hash FROM webhook_body_hashes LIMIT 1',
    [occurredAt, eventId],
  );
  return eventId;
}

it('the hash of a webhook that claims to be of the future is found', async () => {
  const eventId = await addHash('2099-01-01T00:00:00Z');
  expect((await audit()).found).toEqual([`webhook_body_hashes ${eventId}: ${hashUnknown}`]);
});

it('webhooks of events that were cut off the end of the log are found when the index has the rest', async () => {
  const last = fannedOut.at(-1)?.occurredAt.getTime() ?? 0;
  const eventId = await addHash(new Date(last + dayMs / 2).toISOString());
  expect((await audit()).found).toEqual([]);
  await log.pool.query(
    `INSERT INTO projection_checkpoints (name, position, kinds_read)
      VALUES ('events', $1, jsonb_build_object('statement-', $1::text))`,
    [await log.store.lastPosition()],
  );
  expect((await audit()).found).toEqual([`webhook_body_hashes ${eventId}: ${hashUnknown}`]);
});

const cannotBeComputed =
  'the webhook body cannot be computed: the log has an event that cannot be read';
const absent = 'the log has no event for this webhook body';
const differs = 'the webhook body is not the one that the log gives';

it('an event that was removed from the log is found, and so is what it changes in later bodies', async () => {
  await log.pool.query('DELETE FROM events WHERE stream_id = $1 AND revision = 1', [one]);
  expect(await audit()).toMatchObject({
    compared: 4,
    found: [
      `webhook_body_hashes ${idOf(1)}: ${absent}`,
      `webhook_body_hashes ${idOf(2)}: ${differs}`,
    ],
    at: [`${idOf(1)} at ${one} 1`, `${idOf(2)} at ${one} 2`],
  });
});

it('a stream that was removed is found, event by event', async () => {
  await log.pool.query('DELETE FROM events WHERE stream_id = $1', [one]);
  const { found } = await audit();
  expect(found).toEqual([0, 1, 2].map((n) => `webhook_body_hashes ${idOf(n)}: ${absent}`));
});

it.each([
  ['the type of the first event', `type = 'PaymentCompleted'`, 0, { 0: 0, 1: 0, 2: 0 }],
  ['the data of the first event', `data = '{}'`, 0, { 0: 0, 1: 1, 2: 2 }],
  ['the metadata of an event', `metadata = '{}'`, 1, { 1: 1, 2: 1 }],
  ['an event to one that makes no webhooks', `type = 'PaymentRejectedLate'`, 2, { 2: 2 }],
])(
  'a log in which somebody altered %s is audited to its end, and the event is named',
  async (_what, change, altered, placeOf) => {
    await log.pool.query(`UPDATE events SET ${change} WHERE stream_id = $1 AND revision = $2`, [
      one,
      altered,
    ]);
    const places = Object.entries(placeOf);
    expect(await audit()).toMatchObject({
      ...{ compared: 4, stored: 4 },
      found: places.map(([n]) => `webhook_body_hashes ${idOf(Number(n))}: ${cannotBeComputed}`),
      at: places.map(([n, revision]) => `${idOf(Number(n))} at ${one} ${revision}`),
    });
  },
);

/** The store, whose reads of whole streams are changed. */
function reading(readStreams: EventStore['readStreams']): EventStore {
  return { ...log.store, readStreams };
}

it('a stream that the store cannot read is found, and hides no other stream', async () => {
  const store = reading((streamIds) => {
    if (streamIds.includes(one)) return Promise.reject(new TypeError('a row is malformed'));
    return log.store.readStreams(streamIds);
  });
  const unreadable = 'the webhook body cannot be computed: the stream cannot be read';
  expect(await audit(store)).toMatchObject({
    compared: 4,
    found: [0, 1, 2].map((n) => `webhook_body_hashes ${idOf(n)}: ${unreadable}`),
  });
});

it.each([
  ['the store', new StoreUnavailable('no node answers')],
  ['the database', Object.assign(new Error('terminated'), { code: '57P01' })],
])('an audit without %s ends, and claims nothing', async (_what, error) => {
  await expect(audit(reading(() => Promise.reject(error)))).rejects.toBe(error);
});

it('an event that a replica of the store does not have yet is no finding', async () => {
  let reads = 0;
  const store = reading(async (streamIds) => {
    reads += 1;
    const streams = await log.store.readStreams(streamIds);
    return reads > 1 ? streams : streams.map((events) => events.slice(0, -1));
  });
  expect(await audit(store)).toMatchObject({ compared: 4, found: [] });
});

it('a stored body that cannot be hashed is found', async () => {
  const deep = `{"data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  await log.pool.query('UPDATE webhook_fan_outs SET body = $2 WHERE event_id = $1', [
    idOf(0),
    deep,
  ]);
  expect((await audit()).found).toEqual([
    `webhook_fan_outs ${idOf(0)}: the stored webhook body is not the one that was hashed`,
  ]);
});
