/**
 * Whose streams are held back in quarantine. What a list lacks because of them holds up the work for these owners, and
 * for nobody else. The first event of a stream names its owner, and is never sealed there.
 */
import { type Category, streamNameOf, streamPrefixOf } from '@pis/domain';
import type { EventStore, RecordedEvent } from '@pis/event-store';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import type { ProjectionName } from './projected-streams.js';
import { uuidForm } from './projection.js';
import { projectionReader } from './quarantine.js';

export interface HeldSources {
  readonly pool: pg.Pool;
  readonly store: Pick<EventStore, 'readStream'>;
}

export interface HeldOwner {
  readonly organizationId: string;
  /** Null: all originators of the organization. */
  readonly originatorId: string | null;
}

export interface HeldStream {
  readonly streamId: string;
  /** Null: not even the first event of the stream says whose it is. It may belong to anybody. */
  readonly owner: HeldOwner | null;
}

export type NeededStreams = readonly (readonly [ProjectionName, Category])[];

const pageMax = 100;
/** Streams read at a time. The first one may be enough for the caller. */
const readsAtOnce = 10;

/**
 * Those that the projections hold back of these categories, by stream.
 * @param isUnlisted only streams that are held back from their first event on, so that the list lacks them
 * @throws StoreUnavailable
 */
export async function* heldStreams(
  { pool, store }: HeldSources,
  needed: NeededStreams,
  isUnlisted = false,
): AsyncGenerator<HeldStream, void, undefined> {
  for await (const rows of heldRows(pool, needed, isUnlisted)) {
    for (let from = 0; from < rows.length; from += readsAtOnce) {
      const some = rows.slice(from, from + readsAtOnce);
      const firsts = some.map(({ streamId }) =>
        store.readStream(streamId, { from: 0, maxCount: 1, leaveSealed: true }),
      );
      for (const [index, [first]] of (await Promise.all(firsts)).entries()) {
        const streamId = some[index]?.streamId ?? '';
        yield { streamId, owner: heldOwnerOf(streamId, first) };
      }
    }
  }
}

/** The first event that is held back has this revision. */
export interface HeldRow {
  readonly streamId: string;
  readonly fromRevision: number;
}

/** In pages, by stream. @throws StoreUnavailable */
export async function* heldRows(
  pool: pg.Pool,
  needed: NeededStreams,
  isUnlisted = false,
): AsyncGenerator<readonly HeldRow[], void, undefined> {
  for (let after = ''; ; ) {
    const { rows } = await orUnavailable(() =>
      pool.query<HeldRow>({
        name: 'quarantine.held',
        text: `SELECT stream_id AS "streamId", min(from_revision) AS "fromRevision" FROM quarantined_streams
          JOIN unnest($1::text[], $2::text[]) needed (reader, prefix) USING (reader)
          WHERE stream_id ^@ prefix AND stream_id > $3 AND (NOT $4 OR from_revision = 0)
          GROUP BY stream_id ORDER BY stream_id LIMIT $5`,
        values: [
          needed.map(([projection]) => projectionReader(projection)),
          needed.map(([, category]) => streamPrefixOf(category)),
          ...[after, isUnlisted, pageMax],
        ],
      }),
    );
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageMax) return;
    after = last.streamId;
  }
}

/** @param first the first event of the stream */
export function heldOwnerOf(streamId: string, first: RecordedEvent | undefined): HeldOwner | null {
  const name = streamNameOf(streamId);
  if (name?.category === 'organization') return { organizationId: name.id, originatorId: null };
  // A malformed event may have any data, or none.
  const data: unknown = first?.data;
  if (typeof data !== 'object' || data === null) return null;
  const { organizationId, originatorId } = data as Readonly<Record<string, unknown>>;
  const ofStream = name?.category === 'originator' ? name.id : originatorId;
  return isId(organizationId) && isId(ofStream) ? { organizationId, originatorId: ofStream } : null;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && uuidForm.test(value);
}

/**
 * Those that may be of an organization: they are, or nobody can say whose they are.
 * @param organizationId null: of any
 * @throws StoreUnavailable
 */
export async function heldStreamsOf(
  sources: HeldSources,
  needed: NeededStreams,
  organizationId: string | null,
): Promise<readonly HeldStream[]> {
  const held: HeldStream[] = [];
  for await (const stream of heldStreams(sources, needed)) {
    const { owner } = stream;
    if (organizationId === null || owner === null || owner.organizationId === organizationId)
      held.push(stream);
  }
  return held;
}

/**
 * The first that may be of an organization, or of its originator. No other stream is read after it.
 * @param owner originatorId null: all originators of the organization
 * @throws StoreUnavailable
 */
export async function firstHeldStreamOf(
  sources: HeldSources,
  needed: NeededStreams,
  { organizationId, originatorId }: HeldOwner,
): Promise<HeldStream | null> {
  for await (const held of heldStreams(sources, needed)) {
    const { owner } = held;
    const isOfIt =
      originatorId === null
        ? owner === null || owner.organizationId === organizationId
        : mayConcern(owner, { organizationId, originatorId });
    if (isOfIt) return held;
  }
  return null;
}

/** Whether a stream with this owner may say something about the originator. */
export function mayConcern(
  owner: HeldOwner | null,
  { organizationId, originatorId }: { readonly organizationId: string; originatorId: string },
): boolean {
  if (owner === null) return true;
  return (
    owner.organizationId === organizationId &&
    (owner.originatorId === null || owner.originatorId === originatorId)
  );
}

/** For messages. */
export function heldText({ streamId, owner }: HeldStream, projection?: ProjectionName): string {
  const where = projection === undefined ? '' : ` of the projection ${projection}`;
  const whose = owner === null ? ': nobody can say whose it is, so it holds up all' : '';
  return `${streamId} is in quarantine${where}${whose}`;
}
