import { eventStoreDbConformance } from '../testing/eventstoredb-conformance.js';
import { kurrentEventStore } from './kurrent-event-store.js';

eventStoreDbConformance('EventStoreDB by the successor', kurrentEventStore);
