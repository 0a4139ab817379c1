/** The conformance suite over a client of EventStoreDB: the stand-in, and a real server when EVENTSTOREDB_URL is set. */
import type { EventStore } from '../port.js';
import { sharedLog } from '../shared-log/shared-log.js';
import { eventStoreConformance } from './event-store-conformance.js';
import { startEventStoreDbStandIn } from './eventstoredb-stand-in.js';
import type { OpenEventStoreDb } from './server-faults.js';

export function eventStoreDbConformance(name: string, openOne: OpenEventStoreDb): void {
  const variants: Readonly<Record<string, OpenEventStoreDb>> = {
    [name]: openOne,
    [`${name}, through one reading of the log`]: (options) => sharedLog(openOne(options)),
  };
  const realServer = process.env['EVENTSTOREDB_URL'];
  for (const [variant, openVariant] of Object.entries(variants)) {
    eventStoreConformance(`${variant}, stand-in`, async () => {
      const server = await startEventStoreDbStandIn();
      const { open, closeAll } = stores(openVariant, server.url);
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
    if (realServer)
      eventStoreConformance(`${variant}, real`, async () => {
        const { open, closeAll } = stores(openVariant, realServer);
        return {
          store: open(),
          another: open,
          cutConnections: null,
          fresh: false,
          end: closeAll,
        };
      });
  }
}

function stores(openOne: OpenEventStoreDb, connectionString: string) {
  const opened: EventStore[] = [];
  const open = () => {
    const store = openOne({ connectionString });
    opened.push(store);
    return store;
  };
  const closeAll = async () => {
    await Promise.all(opened.map((store) => store.close()));
  };
  return { open, closeAll };
}
