/**
 * What older releases have stored in plain text: the events of schema version 1 that hold personal data.
 * Events are immutable and chained by their hashes, so nobody seals them afterwards.
 */
import {
  categories,
  hasPersonalData,
  type PersonalOwner,
  personalPartsOf,
  storedForm,
  streamNameOf,
  streamPrefixOf,
} from '@pis/domain';
import { beginning, type EventStore, type RecordedEvent } from '@pis/event-store';

/** Parties named in the report, at most: they are all in memory. */
const partiesMax = 1_000_000;
const pageMax = 1_000;

export interface PlainHistory {
  /** Events in plain text, by category. */
  readonly plainEvents: Readonly<Record<string, number>>;
  /** Whose personal data they hold. */
  readonly parties: readonly PersonalOwner[];
  /** Whether there are more parties than `parties` names. */
  readonly hasMoreParties: boolean;
}

const personalCategories = categories.filter(hasPersonalData);

/**
 * Reads the log once, up to where it ends now. Needs no key.
 * @param onPage called with the number of events read so far
 * @throws StoreUnavailable
 */
export async function plainHistory(
  store: EventStore,
  onPage: (eventsRead: number) => void = () => undefined,
): Promise<PlainHistory> {
  const plainEvents = Object.fromEntries(personalCategories.map((category) => [category, 0]));
  const parties = new Set<PersonalOwner>();
  let hasMoreParties = false;
  let eventsRead = 0;
  const end = await store.lastPosition();
  for (let after = beginning; after < end; ) {
    const page = await store.readLog({
      after,
      streamPrefixes: personalCategories.map(streamPrefixOf),
      pageMax,
      leaveSealed: true,
    });
    for (const event of page.events) {
      const { category } = streamNameOf(event.streamId) ?? {};
      if (category === undefined || !isPlain(event)) continue;
      plainEvents[category] = (plainEvents[category] ?? 0) + 1;
      for (const owner of ownersIn(event))
        if (parties.size < partiesMax || parties.has(owner)) parties.add(owner);
        else hasMoreParties = true;
    }
    if (page.position === after) break;
    after = page.position;
    eventsRead += page.events.length;
    onPage(eventsRead);
  }
  return { plainEvents, parties: [...parties], hasMoreParties };
}

function isPlain({ streamId, type, metadata }: RecordedEvent): boolean {
  // A foreign event may have no metadata.
  const written: unknown = metadata?.schemaVersion;
  return storedForm(streamId, type, written) === 'plain';
}

/** None for a malformed event: nobody can say whose data it holds. */
function ownersIn(event: RecordedEvent): readonly PersonalOwner[] {
  try {
    return personalPartsOf(event).map(({ owner }) => owner);
  } catch {
    return [];
  }
}
