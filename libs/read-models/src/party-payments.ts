/**
 * The payments of one contact or originator, for its erasure: whether any is not final, when the last one
 * became final, and the rows with its personal data.
 */
import { withErased, type PaymentListItem } from '@pis/contracts';
import { finalStatuses, paymentStatuses } from '@pis/domain';
import type { EventStore, Position, RecordedEvent } from '@pis/event-store';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { lockCheckpoint } from './checkpoint.js';
import type { Party } from './erased-parties.js';
import type { ListCursor, ListPage } from './list-page.js';
import { orUnavailable } from './or-unavailable.js';
import { paymentsQuery, type PaymentsQuery } from './payments-query.js';
import type { ProjectionName } from './projected-streams.js';
import { hasReached } from './projection-reach.js';
import { projectionReader } from './quarantine.js';

export interface OpenPayments {
  /** Counted up to openCountMax. */
  readonly count: number;
  /** One of them. */
  readonly paymentId: string;
}

/** More payments that are not final are not counted. */
export const openCountMax = 100;
const pageMax = 1_000;
const heldPageMax = 100;

const openStatuses = paymentStatuses.filter((status) => !finalStatuses.includes(status));
const columns = { contact: 'contact_id', originator: 'originator_id' } as const;

/** Every method throws StoreUnavailable when a store is unavailable. */
export class PartyPayments {
  private readonly query: PaymentsQuery;

  constructor(
    private readonly pool: pg.Pool,
    private readonly store: EventStore,
  ) {
    this.query = paymentsQuery(pool);
  }

  /** Whether a projection has applied everything that its streams had up to a position. */
  hasReached(projection: ProjectionName, position: Position): Promise<boolean> {
    return hasReached({ pool: this.pool, store: this.store }, projection, position);
  }

  /** Payments that are not final, as far as the projection has come; null when there are none. */
  async open({ kind, id, organizationId }: Party): Promise<OpenPayments | null> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ payment_id: string }>(
        `SELECT payment_id FROM payments
         WHERE organization_id = $1 AND ${columns[kind]} = $2 AND status = ANY($3::text[]) LIMIT $4`,
        [organizationId, id, openStatuses, openCountMax],
      ),
    );
    const [first] = rows;
    return first === undefined
      ? await this.held({ kind, id, organizationId })
      : { count: rows.length, paymentId: first.payment_id };
  }

  /** When the last payment became final, ISO 8601; null without payments. */
  async lastFinalAt(party: Party): Promise<string | null> {
    let last: string | null = null;
    let after: ListCursor | undefined;
    do {
      const page = await this.page(party, pageMax, after);
      for (const item of page.items) {
        const at = finalAt(item);
        if (last === null || at > last) last = at;
      }
      after = page.next ?? undefined;
    } while (after !== undefined);
    return last;
  }

  /** Newest first. */
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
   * Payments that the projection holds back: their rows do not say how they stand. Only their first events
   * are looked at.
   */
  private async held({ kind, id }: Party): Promise<OpenPayments | null> {
    const found: string[] = [];
    for (let after = ''; found.length < openCountMax; ) {
      const { rows } = await orUnavailable(() =>
        this.pool.query<{ stream_id: string }>(
          `SELECT stream_id FROM quarantined_streams
           WHERE reader = $1 AND stream_id > $2 ORDER BY stream_id LIMIT $3`,
          [projectionReader('payments'), after, heldPageMax],
        ),
      );
      for (const { stream_id: streamId } of rows) {
        const [first] = await this.store.readStream(streamId, {
          from: 0,
          maxCount: 1,
          leaveSealed: true,
        });
        if (first !== undefined && partyIdsOf(first.data, kind).includes(id))
          found.push(streamId.slice(streamId.indexOf('-') + 1));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < heldPageMax) break;
      after = last.stream_id;
    }
    const [paymentId] = found;
    return paymentId === undefined ? null : { count: found.length, paymentId };
  }
}

/** As the first event of a payment is stored. A counterparty that is no saved contact is in the link. */
function partyIdsOf(data: RecordedEvent['data'], kind: Party['kind']): readonly unknown[] {
  if (kind === 'originator') return [data['originatorId']];
  const { link } = data as { readonly link?: { readonly counterpartyId?: unknown } | null };
  return [data['contactId'], link?.counterpartyId];
}

/** The times of a payment do not say when it was blocked: that was soon after its creation. */
function finalAt(item: PaymentListItem): string {
  const { createdAt, completedAt, failedAt, returnedAt, canceledAt } = item;
  const times = [completedAt, failedAt, returnedAt, canceledAt].filter((time) => time !== null);
  return times.reduce((latest, time) => (time > latest ? time : latest), createdAt);
}
