import type { Life } from '@pis/bank-rails/testing';
import type { EventStore } from '@pis/event-store';

export function mortalStore(store: EventStore, life: Life): EventStore {
  return {
    ...store,
    append: (...args) => life.step(() => store.append(...args)),
    readStream: (...args) => life.step(() => store.readStream(...args)),
  };
}
