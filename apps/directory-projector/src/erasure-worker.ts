/**
 * Takes erased parties out of the tables that hold copies of their personal data: rows of payments, bodies
 * of deliveries, messages that wait, archived bank files, exports, snapshots. The lists of parties are the projection's
 * own.
 *
 * It goes through the payments of a party a page at a time, and parties take turns. So a party with a
 * million payments holds up neither the projections nor the other parties. A pass begins once the
 * payments projection has come to the erasure. It is repeated for what was under way meanwhile: first for
 * deliveries and messages, then for attempts that were still waiting for their answer, and then for messages
 * that a consumer puts aside only after it was down for a while.
 *
 * Each pass destroys the keys again: a database that was restored from a backup brings them back, beside a
 * log that has the erasure.
 *
 * Each page can be done twice. A process that dies leaves a lease that ends.
 */
import { blankErased } from '@pis/bank-rails/connections';
import { withErased } from '@pis/contracts';
import { streamPrefixOf } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { releasePersonalExports } from '@pis/exports';
import { keyAgeMaxMs, type Owner, ownerOf, ownersOfParty } from '@pis/keyring';
import { rewriteWaitingMessages } from '@pis/messaging/clients';
import {
  claimErasure,
  type ErasureWork,
  erasuresAhead,
  PartyTransfers,
  prolongErasure,
  saveErasure,
} from '@pis/read-models';
import { type Logger, Repeating } from '@pis/service-kit';
import { eraseFromDeliveries, type PastEvent } from '@pis/webhook-deliveries';
import type pg from 'pg';

export interface ErasureWorkerOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
  /** The longest that an attempt of a delivery takes, ms. */
  readonly attemptMaxMs: number;
}

/** A command waits longer than this between the confirmation of an erasure and its record: it is expected in time. */
const pollMs = keyAgeMaxMs;
/** While a command is about to record an erasure, so that the first pass begins at once. */
const expectingPollMs = 200;
/** A command that has not recorded it after this time was killed. */
const expectingForMs = 60_000;
const retryMs = 1_000;
/** Longer than a page takes. */
const leaseMs = 30_000;
/** Payments in a page. */
const pageMax = 200;
/** Streams in one read. */
const streamsMax = 50;
/** Until the projection is asked again how far it has come. */
const behindMs = 250;
/** From the first pass to the second: what was opened with the keys until then is written. */
const secondPassMs = keyAgeMaxMs + 1_000;
/** From the end of the last attempt until it is recorded. */
const recordMaxMs = 30_000;
/** An export that began before the end of the first pass ends, or begins anew, by the second one. */
const exportPasses = 2;
/** For consumers on Kafka that were down, and put messages aside that were published before the erasure. */
const latePassesMs = [3_600_000, 24 * 3_600_000] as const;

export class ErasureWorker {
  private readonly transfers: PartyTransfers;
  private readonly repeating: Repeating;
  /** From the end of each pass to the next one. After the last pass nothing is left to do. */
  private readonly nextPassInMs: readonly number[];

  constructor(private readonly options: ErasureWorkerOptions) {
    const { pool, store, logger, attemptMaxMs } = options;
    this.transfers = new PartyTransfers(pool, store);
    this.nextPassInMs = [secondPassMs, attemptMaxMs + recordMaxMs, ...latePassesMs];
    this.repeating = new Repeating({
      round: () => this.round(),
      failed(error) {
        logger.warn({ err: error }, 'erased parties could not be taken out of all tables yet');
        return retryMs;
      },
    });
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when the current page is done. */
  async stop(): Promise<void> {
    await this.repeating.stop();
  }

  /** @returns milliseconds until the next round */
  async round(): Promise<number> {
    const { isDue, isExpected } = await erasuresAhead(this.options.pool, expectingForMs);
    if (isDue && (await this.step())) return 0;
    return isExpected ? expectingPollMs : pollMs;
  }

  /** One page of one party. @returns whether any was due */
  async step(): Promise<boolean> {
    const { pool } = this.options;
    const work = await claimErasure(pool, leaseMs);
    if (work === null) return false;
    if (!(await this.transfers.haveReached(work.position, work.kind))) {
      await saveErasure(pool, work, { ...work, dueInMs: behindMs });
      return true;
    }
    if (work.place === null) await this.begin(work);
    const { items, next } = await this.transfers.page(work, pageMax, work.place ?? undefined);
    const paymentIds = items.map(({ paymentId }) => paymentId);
    await this.transfers.eraseRows(work, paymentIds);
    await this.eraseDeliveries(work, paymentIds);
    await blankErased(this.options, { party: ownerIn(work), paymentIds });
    if (next === null) await this.blankCollections(work);
    // Now that no list names the party: what was written meanwhile may name it.
    if (next === null) await this.releaseExports(work);
    await saveErasure(
      pool,
      work,
      next === null ? this.ended(work) : { ...work, place: next, dueInMs: 0 },
    );
    return true;
  }

  private ended({ passes }: ErasureWork) {
    return { passes: passes + 1, place: null, dueInMs: this.nextPassInMs[passes] ?? null };
  }

  /** What does not depend on the number of payments. */
  private async begin(work: ErasureWork): Promise<void> {
    const { pool, destroyKeys } = this.options;
    const { kind, id } = work;
    await this.releaseExports(work);
    // A backup of the database that was restored has the keys of its time.
    await destroyKeys(ownersOfParty(work));
    await pool.query('DELETE FROM stream_snapshots WHERE stream_id = $1', [
      `${streamPrefixOf(kind)}${id}`,
    ]);
    await rewriteWaitingMessages(pool, {
      containing: id,
      rewrite: (value) => messageWithout(value, id),
      onPage: () => prolongErasure(pool, work, leaseMs),
    });
  }

  /** The records of banks name a debited originator as the counterparty of the collection. */
  private async blankCollections(work: ErasureWork): Promise<void> {
    const paymentIds = await this.transfers.collections(work);
    if (paymentIds.length > 0)
      await blankErased(this.options, { party: ownerOf.contact(work.id), paymentIds });
  }

  /** Later exports are written from lists without the party. */
  private async releaseExports(work: ErasureWork): Promise<void> {
    const { pool, destroyKeys } = this.options;
    if (work.passes < exportPasses) await releasePersonalExports(pool, destroyKeys, work);
  }

  private async eraseDeliveries(
    { id: partyId, organizationId }: ErasureWork,
    paymentIds: readonly string[],
  ): Promise<void> {
    const { pool, store } = this.options;
    for (let from = 0; from < paymentIds.length; from += streamsMax) {
      const chunk = paymentIds.slice(from, from + streamsMax);
      const streams = await store.readStreams(
        chunk.map((id) => `${streamPrefixOf('payment')}${id}`),
      );
      const events: PastEvent[] = streams
        .flat()
        .map(({ id: eventId, metadata }) => ({ eventId, occurredAt: metadata.at }));
      await eraseFromDeliveries(pool, { paymentIds: chunk, events }, { partyId, organizationId });
    }
  }
}

function ownerIn({ kind, id }: Pick<ErasureWork, 'kind' | 'id'>): Owner {
  return kind === 'contact' ? ownerOf.contact(id) : ownerOf.originator(id);
}

/** An integration event as it is published, without the personal data of the party. */
function messageWithout(value: string, partyId: string): string {
  const event = objectIn(value);
  const data = event?.['data'];
  if (typeof data !== 'object' || data === null) return value;
  const erased = withErased(data, (id) => id === partyId);
  return erased === data ? value : JSON.stringify({ ...event, data: erased });
}

/** Null for a message that is none of ours: dead letters hold those too. */
function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
