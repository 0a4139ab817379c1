/**
 * The payments of one contact or originator, and the collections of fees from one originator, for its erasure: whether
 * any is not final, when the last one became final, and the rows with its personal data.
 */
import { withErased, type PaymentListItem } from '@pis/contracts';
import {
  finalStatuses,
  type PaymentNote,
  type PaymentStatus,
  paymentStatuses,
  streamPrefixOf,
  type TransferOwner,
} from '@pis/domain';
import type { EventStore, Position } from '@pis/event-store';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { lockCheckpoint } from './checkpoint.js';
import type { Party } from './erased-parties.js';
import type { ListCursor, ListPage } from './list-page.js';
import { orUnavailable } from './or-unavailable.js';
import { paymentsQuery, type PaymentsQuery } from './payments-query.js';
import type { ProjectionName } from './projected-streams.js';
import { uuidForm } from './projection.js';
import { hasReached } from './projection-reach.js';
import { projectionReader } from './quarantine.js';

export interface OpenTransfers {
  /** What they are. Collections are looked for when no payment is open. */
  readonly transfer: TransferOwner;
  /** Counted up to openCountMax. */
  readonly count: number;
  /** The ID of one of them, also of a collection. */
  readonly paymentId: string;
}

/** More transfers that are not final are not counted. */
const openCountMax = 100;
const pageMax = 1_000;
const heldPageMax = 100;
/** Streams in one read. */
const streamsMax = 50;

const listOf = { payment: 'payments', collection: 'fees' } as const satisfies Record<
  TransferOwner,
  ProjectionName
>;

const rejectedLate = 'PaymentRejectedLate' satisfies PaymentNote['type'];
const lowestId = '00000000-0000-0000-0000-000000000000';
const openStatuses = paymentStatuses.filter((status) => !finalStatuses.includes(status));
const columns = { contact: 'contact_id', originator: 'originator_id' } as const;

/** Every method throws StoreUnavailable when a store is unavailable. */
export class PartyTransfers {
  private readonly query: PaymentsQuery;

  constructor(
    private readonly pool: pg.Pool,
    private readonly store: EventStore,
  ) {
    this.query = paymentsQuery(pool);
  }

  /**
   * Whether the lists have applied everything that their streams had up to a position. Fees are collected from
   * originators only: nothing of a contact waits for their list.
   */
  async haveReached(position: Position, kind: Party['kind']): Promise<boolean> {
    const sources = { pool: this.pool, store: this.store };
    const needed = kind === 'contact' ? [listOf.payment] : Object.values(listOf);
    for (const projection of needed)
      if (!(await hasReached(sources, projection, position))) return false;
    return true;
  }

  /** Transfers that are not final, as far as the lists have come; null when there are none. */
  async open(party: Party): Promise<OpenTransfers | null> {
    return (
      (await this.openPayments(party)) ??
      (await this.held(party, 'payment')) ??
      (await this.openCollections(party)) ??
      (await this.held(party, 'collection'))
    );
  }

  private async openPayments({ kind, id, organizationId }: Party): Promise<OpenTransfers | null> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ payment_id: string }>(
        `SELECT payment_id FROM payments
         WHERE organization_id = $1 AND ${columns[kind]} = $2 AND status = ANY($3::text[]) LIMIT $4`,
        [organizationId, id, openStatuses, openCountMax],
      ),
    );
    return counted(
      'payment',
      rows.map(({ payment_id: paymentId }) => paymentId),
    );
  }

  /**
   * Those of started collections whose streams are not there yet, too. One that the bank has rejected late stays
   * FAILED_IN_FLIGHT, but nothing about it is open.
   */
  private async openCollections({ kind, ...party }: Party): Promise<OpenTransfers | null> {
    if (kind !== 'originator') return null;
    const found: string[] = [];
    for (let after = lowestId; found.length < openCountMax; ) {
      const page = await this.unsettledCollections(party, after);
      for (const { id, status } of page)
        if (status !== 'FAILED_IN_FLIGHT' || !(await this.isRejectedLate(id))) found.push(id);
      const last = page.at(-1);
      if (last === undefined || page.length < openCountMax) break;
      after = last.id;
    }
    return counted('collection', found.slice(0, openCountMax));
  }

  private async unsettledCollections(
    { id, organizationId }: Omit<Party, 'kind'>,
    after: string,
  ): Promise<readonly { readonly id: string; readonly status: PaymentStatus | null }[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ id: string; status: PaymentStatus | null }>(
        `SELECT id, status FROM (
          SELECT collection_id AS id, status FROM fee_collections
            WHERE organization_id = $1 AND originator_id = $2 AND status = ANY($3::text[])
          UNION
          SELECT collection_id, NULL FROM fee_periods LEFT JOIN fee_collections USING (collection_id)
            WHERE fee_periods.organization_id = $1 AND fee_periods.originator_id = $2
              AND fee_periods.status = 'COLLECTING' AND fee_collections.collection_id IS NULL) open
         WHERE id > $4 ORDER BY id LIMIT $5`,
        [organizationId, id, openStatuses, after, openCountMax],
      ),
    );
    return rows;
  }

  private async isRejectedLate(collectionId: string): Promise<boolean> {
    const events = await this.store.readStream(`${streamPrefixOf('collection')}${collectionId}`, {
      leaveSealed: true,
    });
    return events.some(({ type }) => type === rejectedLate);
  }

  /** The IDs of all collections from an originator; none of a contact. */
  async collections({ kind, id, organizationId }: Party): Promise<readonly string[]> {
    if (kind !== 'originator') return [];
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ id: string }>(
        `SELECT collection_id AS id FROM fee_collections
          WHERE organization_id = $1 AND originator_id = $2 ORDER BY collection_id`,
        [organizationId, id],
      ),
    );
    return rows.map(({ id: collectionId }) => collectionId);
  }

  /** When the last transfer became final, ISO 8601; null without transfers. */
  async lastFinalAt(party: Party): Promise<string | null> {
    let last: string | null = await this.lastChangeOfCollections(party);
    let after: ListCursor | undefined;
    do {
      const page = await this.page(party, pageMax, after);
      for (const item of page.items) last = later(last, finalAt(item));
      // Their times do not say when they were blocked.
      const blocked = page.items.filter(({ status }) => status === 'BLOCKED');
      const ids = blocked.map(({ paymentId }) => paymentId);
      last = later(last, await this.lastChangeOf('payment', ids));
      after = page.next ?? undefined;
    } while (after !== undefined);
    return last;
  }

  /** A collection's last event ends it, or is a later report of the bank. */
  private async lastChangeOfCollections(party: Party): Promise<string | null> {
    return this.lastChangeOf('collection', await this.collections(party));
  }

  /** The time of the last event of these transfers; null without any. */
  private async lastChangeOf(owner: TransferOwner, ids: readonly string[]): Promise<string | null> {
    let last: string | null = null;
    for (let from = 0; from < ids.length; from += streamsMax) {
      const names = ids.slice(from, from + streamsMax).map((id) => `${streamPrefixOf(owner)}${id}`);
      for (const events of await this.store.readStreams(names))
        last = later(last, events.at(-1)?.metadata.at ?? null);
    }
    return last;
  }

  /** Payments, newest first. */
  page(
    { kind, id, organizationId }: Party,
    limit: number,
    after?: ListCursor,
  ): Promise<ListPage<PaymentListItem>> {
    const filter = kind === 'contact' ? { contactId: id } : { originatorId: id };
    return this.query.list(organizationId, filter, { limit, after });
  }

  /**
   * Erases the party from these rows. Under the lock of the projection's checkpoint: the projector must not
   * write back a row that it read before.
   */
  async eraseRows({ id }: Party, paymentIds: readonly string[]): Promise<void> {
    if (paymentIds.length === 0) return;
    await inTransaction(this.pool, async (client) => {
      await lockCheckpoint(client, 'payments');
      const { rows } = await client.query<{ payment_id: string; item: PaymentListItem }>(
        'SELECT payment_id, item FROM payments WHERE payment_id = ANY($1::uuid[])',
        [paymentIds],
      );
      const changed = rows.flatMap((row) => {
        const item = withErased(row.item, (partyId) => partyId === id);
        return item === row.item ? [] : [{ paymentId: row.payment_id, item }];
      });
      if (changed.length === 0) return;
      await client.query(
        `UPDATE payments p SET item = t.item
         FROM unnest($1::uuid[], $2::json[]) t (payment_id, item) WHERE p.payment_id = t.payment_id`,
        [
          changed.map(({ paymentId }) => paymentId),
          changed.map(({ item }) => JSON.stringify(item)),
        ],
      );
    });
  }

  /**
   * Transfers that the projection holds back: their rows do not say how they stand. Only their first events
   * are looked at. One whose first event does not say whose it is may be anybody's.
   */
  private async held({ kind, id }: Party, transfer: TransferOwner): Promise<OpenTransfers | null> {
    if (kind === 'contact' && transfer === 'collection') return null;
    const found: string[] = [];
    for (let after = ''; found.length < openCountMax; ) {
      const { rows } = await orUnavailable(() =>
        this.pool.query<{ stream_id: string }>(
          `SELECT stream_id FROM quarantined_streams
           WHERE reader = $1 AND stream_id > $2 ORDER BY stream_id LIMIT $3`,
          [projectionReader(listOf[transfer]), after, heldPageMax],
        ),
      );
      for (const { stream_id: streamId } of rows) {
        const [first] = await this.store.readStream(streamId, {
          from: 0,
          maxCount: 1,
          leaveSealed: true,
        });
        const ids = partyIdsOf(first?.data, kind);
        if (ids.length === 0 || ids.includes(id))
          found.push(streamId.slice(streamId.indexOf('-') + 1));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < heldPageMax) break;
      after = last.stream_id;
    }
    return counted(transfer, found);
  }
}

function counted(transfer: TransferOwner, ids: readonly string[]): OpenTransfers | null {
  const [paymentId] = ids;
  return paymentId === undefined ? null : { transfer, count: ids.length, paymentId };
}

/**
 * As the first event of a payment is stored. A counterparty that is no saved contact is in the link. A malformed event
 * may have any data, or none: then there are no IDs.
 */
function partyIdsOf(data: unknown, kind: Party['kind']): readonly unknown[] {
  if (typeof data !== 'object' || data === null) return [];
  const { originatorId, contactId, link } = data as {
    readonly originatorId?: unknown;
    readonly contactId?: unknown;
    readonly link?: { readonly counterpartyId?: unknown } | null;
  };
  const ids = kind === 'originator' ? [originatorId] : [contactId, link?.counterpartyId];
  return ids.filter((id) => typeof id === 'string' && uuidForm.test(id));
}

/** ISO 8601. */
function later(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return other > one ? other : one;
}

/** Of a payment that was not blocked. */
function finalAt(item: PaymentListItem): string {
  const { createdAt, completedAt, failedAt, returnedAt, canceledAt } = item;
  const times = [completedAt, failedAt, returnedAt, canceledAt].filter((time) => time !== null);
  return times.reduce((latest, time) => (time > latest ? time : latest), createdAt);
}
