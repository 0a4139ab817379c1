import type { EventStore } from '../port.js';

/** Looks at one event of the log for each page, as a store does that bounds its pages. */
export function shortSightedStore(store: EventStore): EventStore {
  return {
    ...store,
    async readLog({ streamPrefixes, ...options }) {
      const { events, position } = await store.readLog({ ...options, pageMax: 1 });
      const asked = events.filter(
        ({ streamId }) => streamPrefixes?.some((prefix) => streamId.startsWith(prefix)) ?? true,
      );
      return { events: asked, position };
    },
  };
}
