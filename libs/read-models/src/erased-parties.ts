/**
 * Who was erased, in the table `erased_parties`, and how far the tables that hold copies of personal data
 * have been rewritten.
 *
 * The directory projection adds a row when it comes to an erasure in the log. A worker then goes through
 * the payments of the party, a page at a time. It does so more than once, because what was under way during
 * the first pass may be written after it.
 */
import { streamNameOf } from '@pis/domain';
import type { Position, RecordedEvent } from '@pis/event-store';
import type pg from 'pg';
import type { ListCursor } from './list-page.js';
import { type ErasureNotice, noteErasure } from './party-erasures.js';
import type { ReadTable } from './projection.js';

export type PartyKind = 'contact' | 'originator';

export interface Party {
  readonly kind: PartyKind;
  readonly id: string;
  readonly organizationId: string;
}

/** A step of the work on an erased party, leased to the caller. */
export interface ErasureWork extends Party {
  /** Of the erasure in the log. */
  readonly position: Position;
  /** How many passes are complete. */
  readonly passes: number;
  /** The last payment that the pass under way has reached; null at its beginning. */
  readonly place: ListCursor | null;
  readonly lease: string;
}

type Database = pg.ClientBase | pg.Pool;

const erasures = { ContactErased: 'contact', OriginatorErased: 'originator' } as const;

const contact = 'contact' as const;
const originator = 'originator' as const;
const steps: Readonly<Record<string, Pick<ErasureNotice, 'kind' | 'phase'>>> = {
  ContactErasureRequested: { kind: contact, phase: 'requested' },
  ContactErasureWithdrawn: { kind: contact, phase: 'withdrawn' },
  ContactErasureConfirmed: { kind: contact, phase: 'confirmed' },
  ContactErased: { kind: contact, phase: 'erased' },
  OriginatorErasureRequested: { kind: originator, phase: 'requested' },
  OriginatorErasureWithdrawn: { kind: originator, phase: 'withdrawn' },
  OriginatorErasureConfirmed: { kind: originator, phase: 'confirmed' },
  OriginatorErased: { kind: originator, phase: 'erased' },
};

/**
 * The same table; each step of an erasure is noted in `party_erasures`, and a row of `erased_parties` is
 * written with the last one. A rebuild writes them again.
 */
export function withErasures(table: ReadTable): ReadTable {
  return {
    name: table.name,
    async write(client, target, events, areNew) {
      await table.write(client, target, events, areNew);
      for (const event of events) await noteStep(client, event);
      await noteErasures(client, events.filter(isErasure));
    },
  };
}

function isErasure({ type }: RecordedEvent): boolean {
  return Object.hasOwn(erasures, type);
}

async function noteStep(db: Database, event: RecordedEvent): Promise<void> {
  const { streamId, type, metadata, position } = event;
  const step = steps[type];
  const { category, id } = streamNameOf(streamId) ?? {};
  if (step === undefined || category !== step.kind || id === undefined) return;
  await noteErasure(db, { ...step, id, at: metadata.at, position });
}

async function noteErasures(db: Database, events: readonly RecordedEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.query(
    `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position, due_at)
     SELECT t.*, now() FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[], $5::text[]) t
     ON CONFLICT (party_id) DO NOTHING`,
    [
      events.map(({ streamId }) => streamNameOf(streamId)?.id),
      events.map(({ type }) => erasures[type as keyof typeof erasures]),
      events.map(({ data }) => data['organizationId']),
      events.map(({ metadata }) => metadata.at),
      events.map(({ position }) => position),
    ],
  );
}

/** Leases the step that has been due for longest, so that parties take turns. Null when none is due. */
export async function claimErasure(db: Database, leaseMs: number): Promise<ErasureWork | null> {
  const { rows } = await db.query<WorkRow>({
    name: 'erased_parties.claim',
    text: `UPDATE erased_parties SET lease = gen_random_uuid(), due_at = now() + $1 * interval '1 ms'
      WHERE party_id = (SELECT party_id FROM erased_parties WHERE due_at <= now()
        ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING party_id, kind, organization_id, position, passes, place_created_at, place_payment_id,
        lease`,
    values: [leaseMs],
  });
  const [row] = rows;
  return row === undefined ? null : workOf(row);
}

interface WorkRow {
  readonly party_id: string;
  readonly kind: PartyKind;
  readonly organization_id: string;
  readonly position: Position;
  readonly passes: number;
  readonly place_created_at: Date | null;
  readonly place_payment_id: string | null;
  readonly lease: string;
}

function workOf(row: WorkRow): ErasureWork {
  const { place_created_at: at, place_payment_id: paymentId } = row;
  return {
    kind: row.kind,
    id: row.party_id,
    organizationId: row.organization_id,
    position: row.position,
    passes: row.passes,
    place:
      at === null || paymentId === null ? null : { createdAt: at.toISOString(), id: paymentId },
    lease: row.lease,
  };
}

/** Prolongs the lease of a step that takes long. */
export async function prolongErasure(
  db: Database,
  { id, lease }: ErasureWork,
  leaseMs: number,
): Promise<void> {
  await db.query(
    `UPDATE erased_parties SET due_at = now() + $3 * interval '1 ms' WHERE party_id = $1 AND lease = $2`,
    [id, lease, leaseMs],
  );
}

export interface ErasureProgress {
  readonly passes: number;
  readonly place: ListCursor | null;
  /** Until the next step; null when nothing is left to do. */
  readonly dueInMs: number | null;
}

/** Ends a step. A step whose lease has passed to another worker changes nothing. */
export async function saveErasure(
  db: Database,
  { id, lease }: ErasureWork,
  { passes, place, dueInMs }: ErasureProgress,
): Promise<void> {
  await db.query({
    name: 'erased_parties.save',
    text: `UPDATE erased_parties SET passes = $3, place_created_at = $4, place_payment_id = $5,
        due_at = now() + $6::float8 * interval '1 ms'
      WHERE party_id = $1 AND lease = $2`,
    values: [id, lease, passes, place?.createdAt ?? null, place?.id ?? null, dueInMs],
  });
}

export interface RepeatedErasures {
  readonly partyIds: readonly string[];
  /** All that were erased after it, too. */
  readonly erasedAfter?: Date;
}

/** Has the tables gone through again for these parties. */
export async function repeatErasures(
  db: Database,
  { partyIds, erasedAfter }: RepeatedErasures,
): Promise<void> {
  await db.query(
    `UPDATE erased_parties SET passes = 0, place_created_at = NULL, place_payment_id = NULL,
       due_at = now(), lease = gen_random_uuid()
     WHERE party_id = ANY($1::uuid[]) OR erased_at > $2`,
    [partyIds, erasedAfter ?? null],
  );
}

/**
 * Those who were erased and still have a name in a table of payments: from events of releases that did not
 * seal, or opened with keys that were destroyed later.
 */
export async function erasedButNamedIn(db: Database, table: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ party_id: string }>(
    `SELECT party_id FROM erased_parties e WHERE EXISTS (SELECT FROM ${table} p
       WHERE p.organization_id = e.organization_id AND ${namedIn('contact')})
     OR EXISTS (SELECT FROM ${table} p
       WHERE p.organization_id = e.organization_id AND ${namedIn('originator')})`,
  );
  return rows.map(({ party_id: partyId }) => partyId);
}

function namedIn(side: PartyKind): string {
  return `p.${side}_id = e.party_id AND p.item->'${side}'->>'id' IS NOT NULL
    AND p.item->'${side}'->>'erased' IS DISTINCT FROM 'true'`;
}

/** Whether all payments of the party have been gone through since its erasure, or its repetition. */
export async function isRewritten(db: Database, partyId: string): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM erased_parties WHERE party_id = $1 AND passes > 0', [
    partyId,
  ]);
  return rows.length > 0;
}
