/** The choice between the two client libraries. Only the chosen one is loaded: each costs time and memory. */
import { type KafkaClient, kafkaClientDefault, type KafkaSettings } from './kafka-port.js';

export type * from './kafka-port.js';
export { kafkaClientDefault, kafkaClientNames, kafkaLimits } from './kafka-port.js';

export async function kafkaClient(settings: KafkaSettings): Promise<KafkaClient> {
  switch (settings.client ?? kafkaClientDefault) {
    case 'kafkajs': {
      const { kafkaJsClient } = await import('./kafkajs/kafkajs-client.js');
      return kafkaJsClient(settings);
    }
    case 'platformatic': {
      const { platformaticClient } = await import('./platformatic/platformatic-client.js');
      return platformaticClient(settings);
    }
  }
}
