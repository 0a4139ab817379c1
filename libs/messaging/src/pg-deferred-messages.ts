import {
  deferredCountMax,
  type DeferredMessage,
  type DeferredMessages,
  type FailedAttempt,
} from './deferred-messages.js';
import { NonRetryable } from './errors.js';
import type { Delivery } from './message.js';
import type { Queryable } from './pg-consumer-state.js';

/**
 * The retry table in PostgreSQL (tables deferred_keys and deferred_messages), for both transports. A
 * topic of Kafka was rejected: whether a key still waits would be unknown to whoever receives its next
 * message, and one failing message would hold up all others of the topic again.
 */
export function pgDeferredMessages(pool: Queryable): DeferredMessages {
  const append = async (group: string, delivery: Delivery, failed: FailedAttempt | null) => {
    const { topic, key, value, headers, offset, attempt } = delivery;
    if (!canBeStored(value)) throw new NonRetryable('the value holds a NUL, which is not JSON');
    const { rows } = await pool.query(
      'SELECT defer_message($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS done',
      [
        ...[group, topic, key, value, JSON.stringify(headers), offset, attempt],
        ...[failed?.failures ?? 0, failed?.error ?? null, failed?.dueInMs ?? null],
      ],
    );
    return (rows as { done: boolean }[])[0]?.done ?? false;
  };
  return {
    async defer(group, delivery, failed) {
      await append(group, delivery, failed);
    },

    follow: (group, delivery) => append(group, delivery, null),

    async holding(group, keys) {
      const { rows } = await pool.query(
        'SELECT key FROM deferred_keys WHERE consumer_group = $1 AND key = ANY($2)',
        [group, keys.filter(canBeStored)],
      );
      return new Set((rows as { key: string }[]).map(({ key }) => key));
    },

    async isEmpty(group) {
      const { rows } = await pool.query(
        'SELECT FROM deferred_keys WHERE consumer_group = $1 LIMIT 1',
        [group],
      );
      return rows.length === 0;
    },

    async claim(group, max, leaseMs) {
      const { rows } = await pool.query(
        `WITH due AS (
           SELECT key FROM deferred_keys
           WHERE consumer_group = $1 AND due_at <= now()
           ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), claimed AS (
           UPDATE deferred_keys k SET lease = gen_random_uuid(), due_at = now() + $3 * interval '1 ms'
           FROM due WHERE k.consumer_group = $1 AND k.key = due.key
           RETURNING k.key, k.lease
         )
         SELECT claimed.lease::text, ${columns} FROM claimed CROSS JOIN LATERAL (
           SELECT * FROM deferred_messages m
           WHERE m.consumer_group = $1 AND m.key = claimed.key ORDER BY m.id LIMIT 1
         ) m`,
        [group, max, leaseMs],
      );
      return (rows as Row[]).map((row) => fromRow(row, row.lease));
    },

    async renew(group, claimed, leaseMs) {
      await pool.query(
        `UPDATE deferred_keys k SET due_at = now() + $4 * interval '1 ms'
         FROM unnest($2::text[], $3::uuid[]) AS held (key, lease)
         WHERE k.consumer_group = $1 AND k.key = held.key AND k.lease = held.lease`,
        [group, claimed.map(({ delivery }) => delivery.key), claimed.map(leaseOf), leaseMs],
      );
    },

    async settle(group, { id, lease, delivery }) {
      const { rows } = await pool.query(
        `SELECT ${columns} FROM settle_deferred_message($1, $2, $3, $4) m`,
        [group, delivery.key, lease, id],
      );
      const [next] = rows as Row[];
      return next === undefined ? null : fromRow(next, lease);
    },

    async postpone(group, { id, lease, delivery }, { error, failures, dueInMs }) {
      await pool.query(
        `WITH held AS (
           UPDATE deferred_keys SET due_at = now() + $4 * interval '1 ms'
           WHERE consumer_group = $1 AND key = $2 AND lease = $3 RETURNING key
         )
         UPDATE deferred_messages SET attempts = $6, failures = $7, error = $8
         WHERE id = $5 AND EXISTS (SELECT FROM held)`,
        [group, delivery.key, lease, dueInMs, id, delivery.attempt, failures, error],
      );
    },

    async backlog(group) {
      const { rows } = await pool.query(
        `SELECT (SELECT count(*)::integer FROM (
                   SELECT FROM deferred_messages WHERE consumer_group = $1 LIMIT $2) counted) AS messages,
                coalesce((SELECT greatest(extract(epoch FROM now() - deferred_at), 0) * 1000 FROM deferred_messages
                          WHERE consumer_group = $1 ORDER BY id LIMIT 1), 0)::float8 AS "oldestAgeMs"`,
        [group, deferredCountMax],
      );
      const [row] = rows as { messages: number; oldestAgeMs: number }[];
      return row ?? { messages: 0, oldestAgeMs: 0 };
    },
  };
}

const leaseOf = ({ lease }: DeferredMessage) => lease;

/** PostgreSQL's text cannot hold NUL, so no table has such a key. JSON cannot hold NUL either. */
const canBeStored = (text: string) => !text.includes('\0');

const columns =
  'm.id::text, m.topic, m.key, m.value, m.headers::text, m."offset", m.attempts, m.failures, m.deferred_at AS "deferredAt"';

interface Row {
  readonly lease: string;
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  readonly headers: string;
  readonly offset: string;
  readonly attempts: number;
  readonly failures: number;
  readonly deferredAt: Date;
}

function fromRow(row: Row, lease: string): DeferredMessage {
  const { id, topic, key, value, headers, offset, attempts, failures, deferredAt } = row;
  const delivery: Delivery = {
    topic,
    key,
    value,
    headers: JSON.parse(headers) as Record<string, string>,
    offset,
    attempt: attempts,
  };
  return { id, lease, delivery, failures, deferredAt };
}
