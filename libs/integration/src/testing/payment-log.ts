/** For specs: payments in an event store, and a database for the state of readers. */
import { randomUUID } from 'node:crypto';
import type { DomainEvent } from '@pis/domain';
import { ids, paymentExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type { Message } from '@pis/messaging';
import { appendEvents } from '@pis/read-models/testing';
import type pg from 'pg';

export interface PaymentLog {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  append(streamId: string, ...events: readonly DomainEvent[]): Promise<void>;
  /** The ID of the event, or '' if there is none. */
  idOf(streamId: string, revision: number): Promise<string>;
  /** Drops the database. */
  close(): Promise<void>;
}

const at = '2026-11-21T09:00:00.000Z';
const poolMax = 10;

/** An event of a newer release that this build does not know. */
export const unknownEvent: DomainEvent = { type: 'PaymentEaten', at, data: {} };

/** @param store default: one in memory */
export async function openPaymentLog(store = memoryEventStore()): Promise<PaymentLog> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, poolMax);
  return {
    store,
    pool,
    append: async (streamId, ...events) => {
      await appendEvents(store, streamId, events);
    },
    idOf: async (streamId, revision) => {
      const [event] = await store.readStream(streamId, { from: revision, maxCount: 1 });
      return event?.id ?? '';
    },
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

/** The name of a new payment's stream. It ends in `letter`: see labelOf. */
export function paymentStream(letter: 'a' | 'b' | 'c'): string {
  return `payment-${randomUUID().slice(0, -1)}${letter}`;
}

/** The first event of the stream. */
export function queuedIn(streamId: string): DomainEvent {
  const paymentId = streamId.slice('payment-'.length);
  return { type: 'PaymentQueued', at, data: paymentExample({ paymentId }) };
}

export const statementStream = () => `statement-${randomUUID()}`;

/** The only event of the stream. */
export function generatedIn(streamId: string): DomainEvent {
  const statementId = streamId.slice('statement-'.length);
  const { organization: organizationId, originator: originatorId } = ids;
  const data = {
    ...{ statementId, organizationId, originatorId, periodYear: 2026, periodMonth: 10 },
    ...{ sizeBytes: 4, sha256: 'a'.repeat(64) },
  };
  return { type: 'StatementGenerated', at, data };
}

/** A message as specs compare it, for example `a payment.queued`. */
export function labelOf({ key, headers }: Message): string {
  return `${key.slice(-1)} ${headers['event-type']}`;
}
