import { eventStoreConformance } from '../testing/event-store-conformance.js';
import { startEventStoreDbStandIn } from '../testing/eventstoredb-stand-in.js';
import { kurrentEventStore } from './kurrent-event-store.js';

eventStoreConformance('EventStoreDB by the successor, stand-in', async () => {
  const server = await startEventStoreDbStandIn();
  const { open, closeAll } = stores(server.url);
  return {
    store: open(),
    another: open,
    cutConnections: async () => server.cutConnections(),
    fresh: true,
    end: async () => {
      await closeAll();
      await server.stop();
    },
  };
});

const realServer = process.env['EVENTSTOREDB_URL'];
if (realServer)
  eventStoreConformance('EventStoreDB by the successor, real', async () => {
    const { open, closeAll } = stores(realServer);
    return {
      store: open(),
      another: open,
      cutConnections: null,
      fresh: false,
      end: closeAll,
    };
  });

function stores(connectionString: string) {
  const opened: ReturnType<typeof kurrentEventStore>[] = [];
  const open = () => {
    const store = kurrentEventStore({ connectionString });
    opened.push(store);
    return store;
  };
  return { open, closeAll: () => Promise.all(opened.map((store) => store.close())).then(() => {}) };
}
