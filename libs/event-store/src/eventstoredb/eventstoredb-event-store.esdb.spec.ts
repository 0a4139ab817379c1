import { eventStoreDbConformance } from '../testing/eventstoredb-conformance.js';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';

eventStoreDbConformance('EventStoreDB', eventStoreDbEventStore);
