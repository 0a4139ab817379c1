import { eventStoreConformance } from '../testing/event-store-conformance.js';
import { MemoryLog, memoryEventStore } from './memory-event-store.js';

eventStoreConformance('memory', async () => {
  const log = new MemoryLog();
  const store = memoryEventStore(log);
  return {
    store,
    another: () => memoryEventStore(log),
    cutConnections: null,
    fresh: true,
    end: () => store.close(),
  };
});
