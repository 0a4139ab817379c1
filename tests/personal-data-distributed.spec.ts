/** Where separate processes keep personal data, on Kafka and EventStoreDB. */
import { searched } from './support/personal-data-search.js';
import { distributedOnEventStoreDb } from './support/systems.js';

(process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip)(
  'separate processes on Kafka and EventStoreDB',
  () =>
    searched({
      broker: 'kafka',
      deferred: 'by following',
      halves: 'odd by files',
      start: distributedOnEventStoreDb,
    }),
);
