/** For races between two processes: both have read a stream before either appends to it. */
import type { EventStore } from '@pis/event-store';

interface Race {
  /** The process whose append goes first. */
  readonly first: string;
  readonly reached: Set<string>;
  readonly bothReached: PromiseWithResolvers<void>;
  readonly firstIsDone: PromiseWithResolvers<void>;
}

/** Holds the appends to a stream until both processes have come to theirs. The other one follows the first. */
export class StartingLines {
  private readonly races = new Map<string, Race>();

  at(streamId: string, first: string): void {
    const bothReached = Promise.withResolvers<void>();
    const firstIsDone = Promise.withResolvers<void>();
    this.races.set(streamId, { first, reached: new Set(), bothReached, firstIsDone });
  }

  store(store: EventStore, name: string): EventStore {
    return {
      ...store,
      append: async (...given) => {
        const race = this.races.get(given[0]);
        if (race === undefined) return store.append(...given);
        race.reached.add(name);
        if (race.reached.size === 2) race.bothReached.resolve();
        await race.bothReached.promise;
        if (race.first !== name) await race.firstIsDone.promise;
        try {
          return await store.append(...given);
        } finally {
          if (race.first === name) race.firstIsDone.resolve();
        }
      },
    };
  }
}
