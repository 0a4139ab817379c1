/** Bodies of webhooks that are not, or no longer, what the log gives. */
import { randomUUID } from 'node:crypto';
import { paymentEvents } from '@pis/domain/testing';
import { pastWebhookEvents } from '@pis/integration';
import {
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
  unknownEvent,
} from '@pis/integration/testing';
import {
  deliveryIdOf,
  DeliveryTable,
  eraseFromDeliveries,
  bodyHashOf,
  type FanOut,
} from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import { auditWebhookBodies } from './webhook-bodies.js';

const [one, other] = [paymentStream('a'), paymentStream('b')];
const organizationId = randomUUID();
const dayMs = 24 * 3_600_000;

let log: PaymentLog;
/** In the order of the log. */
let fannedOut: FanOut[];

beforeEach(async () => {
  log = await openPaymentLog();
  const { processing, completed } = paymentEvents;
  await log.append(one, queuedIn(one), processing, completed);
  await log.append(other, queuedIn(other), processing);
  const refs = await Promise.all(
    [[one, 0] as const, [one, 1] as const, [one, 2] as const, [other, 0] as const].map(
      async ([streamId, revision]) => ({ streamId, eventId: await log.idOf(streamId, revision) }),
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
afterEach(() => log.close());

async function store(fanOuts: readonly FanOut[]): Promise<void> {
  const table = new DeliveryTable(log.pool, randomUUID());
  await table.insert(fanOuts.map((fanOut) => ({ fanOut, leasedUntil: [null] })));
}

async function audit() {
  const found: string[] = [];
  const report = await auditWebhookBodies({
    ...{ store: log.store, pool: log.pool, onPage: () => undefined },
    onDifference: ({ table, row, differs }) => found.push(`${table} ${row}: ${differs}`),
  });
  return { ...report, found };
}

const idOf = (index: number) => fannedOut[index]?.eventId ?? '';

it('bodies that are what the log gives are compared, and nothing is found', async () => {
  // Handled again.
  await store(fannedOut);
  expect(await audit()).toEqual({ compared: 4, stored: 4, ofOtherShape: 0, found: [] });
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

it('a hash that was removed while the fan-out is still recorded is found', async () => {
  // Hashing has begun two days ago.
  const longAgo = new Date((fannedOut[0]?.occurredAt.getTime() ?? 0) - 2 * dayMs);
  await log.pool.query(
    `INSERT INTO webhook_body_hashes SELECT $1, gen_random_uuid(), 2, decode('00', 'hex')`,
    [longAgo],
  );
  await log.pool.query('DELETE FROM webhook_body_hashes WHERE event_id = $1', [idOf(2)]);
  expect((await audit()).found).toEqual(
    expect.arrayContaining([
      `webhook_body_hashes ${idOf(2)}: the hash of a webhook body is missing`,
      expect.stringMatching(/: the log has no event for this webhook body$/),
    ]),
  );
});

it('the hash of a body with other fields is counted, not compared', async () => {
  await log.pool.query('UPDATE webhook_body_hashes SET shape = 2 WHERE event_id = $1', [idOf(0)]);
  expect(await audit()).toEqual({ compared: 3, stored: 3, ofOtherShape: 1, found: [] });
});

it('an event that this release cannot read is a finding, and does not hide those of other streams', async () => {
  const events = await log.store.readStream(other);
  expect(events).toHaveLength(2);
  const unreadable = paymentStream('c');
  await log.append(unreadable, unknownEvent);
  const eventId = await log.idOf(unreadable, 0);
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
