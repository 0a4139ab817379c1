/**
 * Keeps payments and collections of a party that is being erased from being sent.
 *
 * What always holds: a payment that the guard has cleared was appended before the party's erasure was
 * noted, so the erasure sees it and waits for its end. All others are held while the erasure may still be
 * withdrawn, and failed once it is confirmed (libs/commands/src/party-erasure.ts).
 *
 * The table `party_erasures` is asked for every payment, and the log only for parties that the table names.
 */
import { type ErasableParty, erasurePhaseOf, type LoadedTransfer } from '@pis/commands';
import type { TransferOwner } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { GroupCommit, isDataError } from '@pis/postgres';
import type pg from 'pg';

export type Side = ErasableParty['kind'];

/** What the other side of a transfer is: a collection debits an originator. */
export const counterpartyKindOf = {
  payment: 'contact',
  collection: 'originator',
} as const satisfies Record<TransferOwner, Side>;

/** `hold`: ask again later. A side: its erasure is confirmed, and the payment must not be sent. */
export type Clearance = 'clear' | 'hold' | Side;

/** Payments in one query. */
const batchMax = 256;

export class ErasureGuard {
  private readonly lookups: GroupCommit<readonly string[], ReadonlySet<string>>;

  constructor(
    pool: pg.Pool,
    private readonly store: EventStore,
  ) {
    this.lookups = new GroupCommit({
      batchMax,
      isItemsFault: isDataError,
      write: (items) => namedAmong(pool, items),
    });
  }

  /**
   * Call it after the payment was read, and before its claim.
   * @throws StoreUnavailable, connection errors of PostgreSQL
   */
  async clearanceFor({
    owner,
    state: { originator, contact },
  }: Pick<LoadedTransfer, 'owner' | 'state'>): Promise<Clearance> {
    const parties: { readonly kind: Side; readonly id: string }[] = [
      { kind: 'originator', id: originator.id },
      ...(contact === null ? [] : [{ kind: counterpartyKindOf[owner], id: contact.id }]),
    ];
    const named = await this.lookups.add(parties.map(({ id }) => id));
    let clearance: Clearance = 'clear';
    for (const party of parties) {
      if (!named.has(party.id)) continue;
      const phase = await erasurePhaseOf(this.store, party);
      if (phase === 'confirmed' || phase === 'erased') return party.kind;
      if (phase === 'requested') clearance = 'hold';
    }
    return clearance;
  }
}

/**
 * MATERIALIZED: the planner must not search the index of all erasures that are under way for a few. Exported for the
 * test of its plan.
 */
export const underWaySql = `
  WITH asked AS MATERIALIZED (
    SELECT party_id, phase FROM party_erasures WHERE party_id = ANY($1::uuid[])
  )
  SELECT party_id AS id FROM asked WHERE phase IN ('requested', 'confirmed')`;

async function namedAmong(
  pool: pg.Pool,
  items: readonly (readonly string[])[],
): Promise<ReadonlySet<string>[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'rail-erasures-under-way',
    text: underWaySql,
    values: [[...new Set(items.flat())]],
  });
  const named = new Set(rows.map(({ id }) => id));
  return items.map(() => named);
}
