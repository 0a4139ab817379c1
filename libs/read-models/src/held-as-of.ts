/**
 * Which streams make a list as of a time incomplete: those of the organization of which a projection holds back events
 * that count at that time. Lists of other organizations, and of earlier times, are complete all the same.
 */
import type { RecordedEvent } from '@pis/event-store';
import { type HeldOwner, heldOwnerOf, heldRows } from './held-streams.js';
import type { HeldRow, HeldSources, HeldStream, NeededStreams } from './held-streams.js';

/** Streams whose owner and time are remembered: neither ever changes. */
const knownMax = 10_000;

interface Held {
  readonly owner: HeldOwner | null;
  /** Of the first event that is held back, in ms; NaN when it does not say. */
  readonly fromMs: number;
}

export class HeldAsOf {
  private readonly known = new Map<string, Held>();

  constructor(private readonly sources: HeldSources) {}

  /**
   * The first that may be of the organization: it is, or nobody can say whose it is.
   * @param at ISO 8601
   * @throws StoreUnavailable
   */
  async first(
    needed: NeededStreams,
    organizationId: string,
    at: string,
  ): Promise<HeldStream | null> {
    for await (const rows of heldRows(this.sources.pool, needed))
      for (const row of rows) {
        const { owner, fromMs } = await this.held(row);
        const isTheirs = owner === null || owner.organizationId === organizationId;
        // A record as of a time has no event from the first later one on.
        if (isTheirs && !(fromMs > Date.parse(at))) return { streamId: row.streamId, owner };
      }
    return null;
  }

  private async held({ streamId, fromRevision }: HeldRow): Promise<Held> {
    const key = `${fromRevision} ${streamId}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const read = async (from: number) => {
      const options = { from, maxCount: 1, leaveSealed: true };
      return (await this.sources.store.readStream(streamId, options))[0];
    };
    const first = await read(0);
    const from = fromRevision === 0 ? first : await read(fromRevision);
    const held = { owner: heldOwnerOf(streamId, first), fromMs: timeOf(from) };
    // An event that is not there yet may come, in a log that is being restored.
    if (first === undefined || from === undefined) return held;
    if (this.known.size >= knownMax) this.known.clear();
    this.known.set(key, held);
    return held;
  }
}

function timeOf(event: RecordedEvent | undefined): number {
  // An event of another system may have any metadata, or none.
  const metadata: unknown = event?.metadata;
  if (typeof metadata !== 'object' || metadata === null) return Number.NaN;
  const { at } = metadata as Readonly<Record<string, unknown>>;
  return typeof at === 'string' ? Date.parse(at) : Number.NaN;
}
