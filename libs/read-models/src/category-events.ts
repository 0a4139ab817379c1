import { type Category, streamPrefixOf } from '@pis/domain';
import type { EventStore, Position, RecordedEvent } from '@pis/event-store';

const pageMax = 500;

/** The events of all streams of a category after a position, in order. @throws StoreUnavailable */
export async function* categoryEvents(
  store: EventStore,
  category: Category,
  from: Position,
): AsyncIterable<RecordedEvent> {
  for (let after = from; ; ) {
    const page = await store.readLog({
      after,
      streamPrefixes: [streamPrefixOf(category)],
      pageMax,
    });
    yield* page.events;
    if (page.events.length === 0 && page.position === after) return;
    after = page.position;
  }
}
