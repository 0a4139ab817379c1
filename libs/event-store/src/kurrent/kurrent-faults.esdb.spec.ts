import { clusterFaults } from '../testing/cluster-faults.js';
import { serverFaults } from '../testing/server-faults.js';
import { kurrentEventStore } from './kurrent-event-store.js';

describe('the successor when EventStoreDB fails', () => serverFaults(kurrentEventStore));
describe('the successor on a cluster', () => clusterFaults(kurrentEventStore));
