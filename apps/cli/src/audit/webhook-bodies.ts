/**
 * The part of `pis audit verify` that computes every webhook's body from the log again and compares it with the hash that
 * was kept when it was fanned out, and the bodies that are still stored with the same hash. One page at a time, whatever
 * was altered.
 */
import type { EventStore } from '@pis/event-store';
import { endSession, ownConnection } from '@pis/postgres';
import { hasReached, type ReadModelDifference } from '@pis/read-models';
import {
  bodyHashOf,
  firstHashPlace,
  type HashedEvent,
  hashedEvents,
  hashesWithoutEvent,
  type HashPlace,
  storedBodyPages,
} from '@pis/webhook-deliveries';
import type { WebhookEnvelope } from '@pis/webhooks';
import type pg from 'pg';
import { LoggedBodies } from './logged-bodies.js';

export interface WebhookBodiesReport {
  /** Events whose bodies were computed again and compared with their hash. */
  readonly compared: number;
  /** Bodies that are still stored and were compared with the hash of their event. */
  readonly stored: number;
  /** Events whose hash is of a body with other fields, by another release: not compared. */
  readonly ofOtherShape: number;
  /** Events that were fanned out and have no hash. */
  readonly missing: number;
  /** Hashes of events that the index does not have. */
  readonly unknown: number;
}

/** A difference, with the event of the log that it is about. */
export interface LocatedDifference extends ReadModelDifference {
  readonly stream?: string;
  readonly revision?: number;
}

export interface WebhookBodiesOptions {
  readonly store: EventStore;
  /** Also says how to connect: the audit opens a connection of its own for its large queries. */
  readonly pool: pg.Pool;
  /** Called for every difference, however many there are. */
  readonly onDifference: (difference: LocatedDifference) => void;
  readonly onPage: (events: number) => void;
  /** How long the store has to reach the index of events. Default: 15 s. */
  readonly settleMaxMs?: number;
}

const pageMax = 200;
const storedMax = 500;
const idsMax = 1_000;
const settleDefaultMs = 15_000;
const hashes = 'webhook_body_hashes';

/** @throws StoreUnavailable, connection errors of PostgreSQL */
export async function auditWebhookBodies(
  options: WebhookBodiesOptions,
): Promise<WebhookBodiesReport> {
  const fromLog = await compareWithLog(options);
  const session = await ownConnection(options.pool);
  try {
    const fromStored = await compareStored(session, options);
    return { ...fromLog, ...fromStored, unknown: await findUnknown(session, options) };
  } finally {
    await endSession(session);
  }
}

async function compareWithLog(
  options: WebhookBodiesOptions,
): Promise<Pick<WebhookBodiesReport, 'compared' | 'ofOtherShape'>> {
  const { store, pool, onPage, settleMaxMs = settleDefaultMs } = options;
  const logged = new LoggedBodies(store, pool, settleMaxMs);
  let [compared, ofOtherShape] = [0, 0];
  for (let place: HashPlace | null = firstHashPlace; place !== null; ) {
    const page: Awaited<ReturnType<typeof hashedEvents>> = await hashedEvents(pool, place, pageMax);
    ofOtherShape += page.events.filter(({ isOfOtherShape }) => isOfOtherShape).length;
    compared += await comparePage(logged, page.events, options);
    onPage(compared);
    place = page.next;
  }
  return { compared, ofOtherShape };
}

/** @returns how many were compared */
async function comparePage(
  logged: LoggedBodies,
  events: readonly HashedEvent[],
  { onDifference }: WebhookBodiesOptions,
): Promise<number> {
  const hashed = events.filter(({ hash }) => hash !== null);
  const bodies = await logged.hashesOf(hashed);
  for (const { eventId: row, streamId: stream, revision, hash } of hashed) {
    const body = bodies.get(row);
    if (body === undefined || ('hash' in body && body.hash === hash)) continue;
    const differs = 'the webhook body is not the one that the log gives';
    const found = 'hash' in body ? { differs, revision } : { ...body, differs: body.problem };
    onDifference({
      ...{ table: hashes, row, column: null, differs: found.differs },
      ...{ stream, revision: found.revision },
    });
  }
  return hashed.length;
}

async function compareStored(
  session: pg.ClientBase,
  { onDifference }: WebhookBodiesOptions,
): Promise<Pick<WebhookBodiesReport, 'stored' | 'missing'>> {
  let [stored, missing] = [0, 0];
  for await (const page of storedBodyPages(session, storedMax))
    for (const { table, id: row, body, hash, lacksHash } of page) {
      if (lacksHash) {
        missing += 1;
        const differs = 'the hash of a webhook body is missing';
        onDifference({ table: hashes, row, column: null, differs });
      }
      if (body === null || hash === null) continue;
      stored += 1;
      if (hashOfStored(body) === hash) continue;
      const differs = 'the stored webhook body is not the one that was hashed';
      onDifference({ table, row, column: 'body', differs });
    }
  return { stored, missing };
}

/** @returns how many hashes have no event */
async function findUnknown(
  session: pg.ClientBase,
  { store, pool, onDifference }: WebhookBodiesOptions,
): Promise<number> {
  const end = await store.lastPosition();
  const isIndexWhole = await hasReached({ pool, store }, 'events', end);
  let unknown = 0;
  for await (const page of hashesWithoutEvent(session, { isIndexWhole, max: idsMax }))
    for (const row of page) {
      unknown += 1;
      const differs = 'the index of events has no event for this webhook body';
      onDifference({ table: hashes, row, column: null, differs });
    }
  return unknown;
}

/** Null for what is no envelope, or cannot be hashed. */
function hashOfStored(body: string): string | null {
  try {
    return bodyHashOf(JSON.parse(body) as WebhookEnvelope);
  } catch {
    return null;
  }
}
