import { clusterFaults } from '../testing/cluster-faults.js';
import { serverFaults } from '../testing/server-faults.js';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';

describe('the event store when EventStoreDB fails', () => serverFaults(eventStoreDbEventStore));
describe('the event store on a cluster', () => clusterFaults(eventStoreDbEventStore));
