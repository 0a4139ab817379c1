import { sharedLog } from '../shared-log/shared-log.js';
import { clusterFaults } from '../testing/cluster-faults.js';
import { longLogReads } from '../testing/log-read-faults.js';
import { lostLogFaults } from '../testing/lost-log-faults.js';
import { type OpenEventStoreDb, serverFaults } from '../testing/server-faults.js';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';

const openShared: OpenEventStoreDb = (options) => sharedLog(eventStoreDbEventStore(options));

describe('the adapter when the log is read page by page', () =>
  longLogReads(eventStoreDbEventStore));
describe('the event store when EventStoreDB fails', () => serverFaults(eventStoreDbEventStore));
describe('the event store on a cluster', () => clusterFaults(eventStoreDbEventStore));
describe('one reading of the log through the event store when EventStoreDB fails', () =>
  serverFaults(openShared));
describe('one reading of the log through the event store on a cluster', () =>
  clusterFaults(openShared));
describe('the event store when the log has lost events', () =>
  lostLogFaults(eventStoreDbEventStore));
describe('one reading of the log through the event store when the log has lost events', () =>
  lostLogFaults(openShared));
