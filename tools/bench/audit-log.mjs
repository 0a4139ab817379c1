/** A log as the service writes it, hashes and all, made without the service: bulk inserts into PostgreSQL. */
import { randomBytes, randomUUID } from 'node:crypto';
import { paymentIdOf } from '@pis/commands';
import { paymentEvents, paymentExample, railDecisionExample } from '@pis/domain/testing';
import { hashOfEvent } from '@pis/event-store';

/** Events of one insert. */
const batchMax = 6_000;
const organizationId = randomUUID();
const originatorIds = Array.from({ length: 100 }, () => randomUUID());
const { queued, processing, completed } = paymentEvents;
/** As long as the sealed text of a party with its account. */
const sealedBytes = 330;

/** Payments that were queued, sent and completed, interleaved; their hashes are right. @throws Error after `withinMs` */
export async function writeLog(pool, payments, { withinMs }) {
  const endsAtMs = performance.now() + withinMs;
  const perBatch = batchMax / 3;
  let position = 0;
  for (let from = 0; from < payments; from += perBatch) {
    const count = Math.min(perBatch, payments - from);
    const streams = Array.from({ length: count }, (_, offset) => eventsOf(from + offset));
    const events = [0, 1, 2].flatMap((step) => streams.map((stream) => stream[step]));
    await insert(pool, events, position);
    position += events.length;
    if (performance.now() > endsAtMs)
      throw new Error(
        `only ${position} events were written within ${Math.round(withinMs / 1_000)} s`,
      );
  }
  await pool.query('UPDATE event_log_head SET position = $1', [position]);
}

function eventsOf(n) {
  const idempotencyKey = `order-${n}`;
  const paymentId = paymentIdOf(organizationId, idempotencyKey);
  const originatorId = originatorIds[n % originatorIds.length];
  const data = {
    ...paymentExample({ paymentId, organizationId, originatorId, idempotencyKey }),
    amountMinor: 1 + ((n * 7_919) % 5_000_000),
    railDecision: railDecisionExample,
    originator: party(originatorId, 'BUSINESS'),
    contact: party(randomUUID(), 'INDIVIDUAL'),
  };
  const life = [{ type: queued.type, data, schemaVersion: 2 }, processing, completed];
  const traceId = randomBytes(16).toString('hex');
  let previousHash = null;
  return life.map(({ type, data: contents, schemaVersion = 1 }, revision) => {
    const at = new Date(Date.UTC(2026, 9, 1) + n * 50 + revision * 2_000).toISOString();
    const actor = revision === 0 ? `apiKey:${organizationId}` : 'system:rail-executor';
    const requestId = revision === 0 ? randomUUID() : null;
    const metadata = {
      ...{ at, schemaVersion, actor, requestId, correlationId: paymentId, causationId: null },
      ...{ traceparent: `00-${traceId}-${traceId.slice(16)}-01`, previousHash },
    };
    const event = { streamId: `payment-${paymentId}`, revision, id: randomUUID(), type, metadata };
    previousHash = hashOfEvent({ ...event, data: contents });
    return { ...event, data: contents };
  });
}

function party(id, entityType) {
  return { id, entityType, sealed: `v3.${randomBytes(sealedBytes).toString('base64url')}` };
}

async function insert(pool, events, position) {
  const columns = [
    events.map((_, index) => position + index + 1),
    events.map(({ streamId }) => streamId),
    events.map(({ revision }) => revision),
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ data }) => JSON.stringify(data)),
    events.map(({ metadata }) => JSON.stringify(metadata)),
  ];
  await pool.query(
    `INSERT INTO events SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::uuid[], $5::text[], $6::json[], $7::json[])`,
    columns,
  );
}
