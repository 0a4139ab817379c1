import { sharedLog } from '../shared-log/shared-log.js';
import { clusterFaults } from '../testing/cluster-faults.js';
import { longLogReads } from '../testing/log-read-faults.js';
import { lostLogFaults } from '../testing/lost-log-faults.js';
import { type OpenEventStoreDb, serverFaults } from '../testing/server-faults.js';
import { kurrentEventStore } from './kurrent-event-store.js';

const openShared: OpenEventStoreDb = (options) => sharedLog(kurrentEventStore(options));

describe('the successor when the log is read page by page', () => longLogReads(kurrentEventStore));
describe('the successor when EventStoreDB fails', () => serverFaults(kurrentEventStore));
describe('the successor on a cluster', () => clusterFaults(kurrentEventStore));
describe('one reading of the log through the successor when EventStoreDB fails', () =>
  serverFaults(openShared));
describe('one reading of the log through the successor on a cluster', () =>
  clusterFaults(openShared));
describe('the successor when the log has lost events', () => lostLogFaults(kurrentEventStore));
describe('one reading of the log through the successor when the log has lost events', () =>
  lostLogFaults(openShared));
