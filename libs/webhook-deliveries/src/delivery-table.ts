/**
 * The tables of pending and of finished deliveries. What always holds: only the process that leased a row
 * works on it. A delivery is finished by moving its row, together with the record of its last attempt.
 * Every statement can be repeated after an unknown outcome.
 *
 * The caller passes the times, so that one clock rules leases and schedule. Dispatchers whose clocks
 * differ by more than the lease's margin may send a delivery twice, with the same ids.
 */
import { binaryArray, isUniqueViolation, textArray, timeArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import type { DecidedDelivery, Delivery, FanOut } from './delivery.js';
import { firstTryOf, type StatementName, statements } from './delivery-statements.js';
import { noteFailures } from './endpoint-failures.js';
import { finishedRow, pendingRow, type RecordedRow, stillPending } from './outcome-rows.js';

/** An event to be stored, and until when we lease each of its deliveries. Null: anyone may claim it. */
export interface InsertedFanOut {
  readonly fanOut: FanOut;
  /** In the order of its receivers. */
  readonly leasedUntil: readonly (Date | null)[];
}

export interface DueOptions {
  readonly except: readonly string[];
  /** Null: all. */
  readonly only: readonly string[] | null;
  readonly max: number;
}

export interface DueEndpoint {
  readonly endpointId: string;
  readonly organizationId: string;
}

export interface DueEndpoints {
  /** Endpoints with due deliveries, the longest wait first. */
  readonly endpoints: readonly DueEndpoint[];
  /** When the next delivery becomes due. Null when none will. */
  readonly nextDueAt: Date | null;
}

/** A place among the pending deliveries of an endpoint, the oldest first. */
export interface PendingPlace {
  readonly createdAt: Date;
  readonly id: string;
}

export interface ExpiredOptions {
  readonly now: Date;
  /** The window of a later delivery cannot have ended. */
  readonly createdBefore: Date;
  /** Null: start at the oldest. */
  readonly after: PendingPlace | null;
  /** The most deliveries that are checked. */
  readonly max: number;
}

export interface ClaimOptions {
  readonly now: Date;
  readonly leasedUntil: Date;
  /** The most deliveries to claim, by endpoint. */
  readonly room: ReadonlyMap<string, number>;
}

/** If an event is older than this at its fan-out, its deliveries store the body themselves. */
const lateAfterMs = 24 * 3_600_000;

/** Whether the deliveries of an event store the body themselves. */
function storesBody({ paymentId, createdAt, occurredAt }: FanOut): boolean {
  // Once the day of the event is dropped, the body is computed again from the payment. Others have none.
  return paymentId === null || createdAt.getTime() - occurredAt.getTime() > lateAfterMs;
}

const nilUuid = '00000000-0000-0000-0000-000000000000';

/** A statement writes to three partitioned tables. A partition may be attached to each meanwhile. */
const partitionTriesMax = 5;

/** An endpoint with due deliveries. Without an endpoint: when the next delivery becomes due. */
interface DueRow {
  readonly endpoint_id: string | null;
  readonly organization_id: string | null;
  readonly due_at: Date | null;
}

export class DeliveryTable {
  /** @param owner UUID of this process in the leases; a new one at every start */
  constructor(
    private readonly pool: pg.Pool,
    private readonly owner: string,
  ) {}

  /**
   * Stores the events that were not fanned out before, each with its deliveries, in one transaction.
   * @returns the ids of the deliveries that are new
   */
  async insert(inserted: readonly InsertedFanOut[]): Promise<ReadonlySet<string>> {
    // The same order everywhere, so that two dispatchers that insert the same rows do not deadlock.
    const rows = inserted.toSorted((a, b) => (a.fanOut.eventId < b.fanOut.eventId ? -1 : 1));
    const events = rows.map(({ fanOut }) => fanOut);
    const deliveries = rows.flatMap(({ fanOut, leasedUntil }, index) =>
      fanOut.receivers.map((receiver, i) => ({
        ...receiver,
        n: index + 1,
        leasedUntil: leasedUntil[i] ?? null,
      })),
    );
    const { rows: present } = await this.query<{ id: string }>('insert', [
      uuidArray(events.map((event) => event.eventId)),
      timeArray(events.map((event) => event.occurredAt)),
      uuidArray(events.map((event) => event.organizationId)),
      binaryArray(
        'text',
        events.map((event) => event.body),
      ),
      textArray(events.map((event) => event.traceparent)),
      textArray(events.map((event) => event.eventType)),
      uuidArray(events.map((event) => event.paymentId)),
      timeArray(events.map((event) => event.createdAt)),
      timeArray(events.map((event) => event.windowEndsAt)),
      textArray(events.map(storesBody)),
      textArray(deliveries.map(({ n }) => n)),
      uuidArray(deliveries.map(({ deliveryId }) => deliveryId)),
      uuidArray(deliveries.map(({ endpointId }) => endpointId)),
      timeArray(deliveries.map(({ leasedUntil }) => leasedUntil)),
      this.owner,
      textArray(events.map(({ bodyHash }) => bodyHash)),
    ]);
    return new Set(present.map(({ id }) => id));
  }

  /**
   * Renews leases that were taken in an insert whose answer was lost.
   * @returns the ids of the deliveries that are leased to us
   */
  async retake(ids: readonly string[], leasedUntil: Date): Promise<ReadonlySet<string>> {
    const { rows } = await this.query<{ id: string }>('retake', [
      ids,
      iso(leasedUntil),
      this.owner,
    ]);
    return new Set(rows.map(({ id }) => id));
  }

  /** Endpoints with due deliveries. */
  async due(now: Date, { except, only, max }: DueOptions): Promise<DueEndpoints> {
    const values = [iso(now), except, max, only];
    const { rows } = await this.query<DueRow>('due', values);
    const endpoints = rows.flatMap(
      ({ endpoint_id: endpointId, organization_id: organizationId }) =>
        endpointId === null || organizationId === null ? [] : { endpointId, organizationId },
    );
    const next = rows.find(({ endpoint_id }) => endpoint_id === null);
    return { endpoints, nextDueAt: next?.due_at ?? null };
  }

  /** Leases due deliveries. */
  async claim(options: ClaimOptions): Promise<Delivery[]> {
    const { rows } = await this.query<ClaimedRow>('claim', [
      iso(options.now),
      iso(options.leasedUntil),
      this.owner,
      [...options.room.keys()],
      [...options.room.values()],
    ]);
    return rows.map(deliveryOfRow);
  }

  /** Deliveries that one of our claims has leased until that time, except those at work. */
  async leased(
    endpointIds: readonly string[],
    leasedUntil: Date,
    atWork: readonly string[],
  ): Promise<Delivery[]> {
    const values = [endpointIds, iso(leasedUntil), this.owner, atWork];
    return (await this.query<ClaimedRow>('leased', values)).rows.map(deliveryOfRow);
  }

  async record(decided: readonly DecidedDelivery[]): Promise<void> {
    // Before the leases end: a later attempt, and its success, must not come in between.
    await noteFailures(this.pool, decided);
    const ended = decided.flatMap(finishedRow).toSorted(byId);
    const askedAgain = await this.askedAgain(ended.filter(({ state }) => state === 'failed'));
    const finished = ended.filter(({ id }) => !askedAgain.has(id));
    const again = ended.filter(({ id }) => askedAgain.has(id)).map(stillPending);
    const pending = [...decided.flatMap(pendingRow), ...again].toSorted(byId);
    if (finished.length > 0)
      await this.query('finish', [
        ...attemptColumns(finished),
        textArray(finished.map((row) => row.state)),
        timeArray(finished.map((row) => row.finishedAt)),
        textArray(finished.map((row) => row.finishedReason)),
        this.owner,
      ]);
    if (pending.length > 0)
      await this.query('postpone', [
        ...attemptColumns(pending),
        timeArray(pending.map((row) => row.nextAttemptAt)),
        timeArray(pending.map((row) => row.leasedUntil)),
        this.owner,
      ]);
  }

  private async askedAgain(failed: readonly RecordedRow[]): Promise<ReadonlySet<string>> {
    if (failed.length === 0) return new Set();
    const { rows } = await this.query<{ id: string }>('askedAgain', [
      failed.map(({ id }) => id),
      failed.map(({ redeliveryRequests }) => redeliveryRequests),
      this.owner,
    ]);
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Fails due deliveries of a disabled endpoint whose window has ended. Checks a limited number of the
   * oldest deliveries after a place.
   * @returns where to continue. Null at the end
   */
  async failExpired(
    endpointId: string,
    { now, createdBefore, after, max }: ExpiredOptions,
  ): Promise<PendingPlace | null> {
    const { rows } = await this.query<PendingPlace>('failExpired', [
      endpointId,
      iso(now),
      iso(createdBefore),
      // Without a place: before every delivery, so that the index is entered at the place each time.
      iso(after?.createdAt ?? null) ?? '-infinity',
      after?.id ?? nilUuid,
      max,
    ]);
    return rows[0] ?? null;
  }

  /** Repeats a statement when a partition was attached for its rows meanwhile, or when rows are there already. */
  private async query<Row extends pg.QueryResultRow>(name: StatementName, values: unknown[]) {
    let statement = { name: `webhook_${name}`, text: firstTryOf(name) };
    for (let tries = 1; ; tries += 1)
      try {
        return await this.pool.query<Row>({ ...statement, values });
      } catch (error) {
        if (tries >= partitionTriesMax) throw error;
        if (isUniqueViolation(error))
          statement = { name: `webhook_${name}_again`, text: statements[name] };
        else if (!isPartitionMoved(error)) throw error;
      }
  }
}

/**
 * PostgreSQL chooses the default partition, waits for its lock while the partition of the day is attached, and
 * then rejects the row (23514). The next try finds the new partition. A CHECK constraint of ours would have a
 * name.
 */
function isPartitionMoved(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23514' && constraint === undefined;
}

function attemptColumns(rows: readonly RecordedRow[]): unknown[] {
  return [
    uuidArray(rows.map((row) => row.id)),
    textArray(rows.map((row) => row.attempts)),
    uuidArray(rows.map((row) => row.attempt?.id ?? null)),
    timeArray(rows.map((row) => row.attempt?.at ?? null)),
    textArray(rows.map((row) => row.attempt?.status ?? null)),
    textArray(rows.map((row) => row.attempt?.durationMs ?? null)),
    textArray(rows.map((row) => storable(row.attempt?.error ?? null))),
    textArray(rows.map((row) => storable(row.attempt?.responseExcerpt ?? null))),
    textArray(rows.map((row) => row.redeliveryRequests)),
  ];
}

interface ClaimedRow {
  readonly id: string;
  readonly organization_id: string;
  readonly endpoint_id: string;
  readonly event_type: string;
  readonly occurred_at: Date;
  readonly body: string | null;
  readonly is_replay: boolean;
  readonly attempts: number;
  readonly created_at: Date;
  readonly window_ends_at: Date;
  readonly redelivery_requests: number;
  readonly traceparent: string | null;
}

function deliveryOfRow(row: ClaimedRow): Delivery {
  return {
    id: row.id,
    organizationId: row.organization_id,
    endpointId: row.endpoint_id,
    eventType: row.event_type,
    occurredAt: row.occurred_at,
    body: row.body,
    isReplay: row.is_replay,
    attempts: row.attempts,
    createdAt: row.created_at,
    windowEndsAt: row.window_ends_at,
    redeliveryRequests: row.redelivery_requests,
    traceparent: row.traceparent,
  };
}

function byId(a: RecordedRow, b: RecordedRow): number {
  return a.id < b.id ? -1 : 1;
}

function iso(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/** The answer of a receiver may contain characters that PostgreSQL's text cannot. */
function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
