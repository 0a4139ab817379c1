/**
 * The event store in EventStoreDB, through `@kurrent/kurrentdb-client`, the successor of the official
 * client by the same makers. It reads with the successor's native client, which needs half the CPU.
 *
 * Appends and subscriptions are the same calls as with the official client, on the successor's connections.
 * The successor's own appends are not used, for the same reasons as those of its predecessor: they have no
 * time limit, and they write to the connection in promises that nobody awaits.
 */
import type { EventStore } from '../port.js';
import { parseEventStoreDbUrl } from '../eventstoredb/connection-string.js';
import {
  type EventStoreDbEventStoreOptions,
  eventStoreOn,
} from '../eventstoredb/eventstoredb-event-store.js';
import { LeaderConnection } from '../eventstoredb/leader-connection.js';
import { Namespace, namespaceDefault } from '../eventstoredb/namespace.js';
import { kurrentNodeClient } from './kurrent-node-client.js';
import { NativeReads } from './native-reads.js';

/** @throws TypeError when the connection string or the namespace is not one */
export function kurrentEventStore({
  connectionString,
  namespace: namespaceName = namespaceDefault,
  ...given
}: EventStoreDbEventStoreOptions): EventStore {
  const namespace = new Namespace(namespaceName);
  const url = parseEventStoreDbUrl(connectionString);
  const connection = new LeaderConnection(url, kurrentNodeClient);
  const reads = new NativeReads(url, namespace);
  return eventStoreOn({ namespace, connection, reads }, given);
}
