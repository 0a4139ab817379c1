import { messagingConformance } from './testing/conformance.js';
import { kafkaHarness } from './testing/kafka-harness.js';

const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];

if (brokers === undefined) {
  describe('the Kafka transport', () => {
    it.skip('needs a broker: Java and Maven, or KAFKA_BROKERS', () => undefined);
  });
} else {
  messagingConformance('the Kafka transport', () => kafkaHarness(brokers.split(',')));
}
