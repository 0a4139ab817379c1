import type { Kafka, Message, ProducerBatch, ProducerConfig } from 'kafkajs';
import type { KafkaFailure } from '../kafka-failure.js';
import { openProducer } from './kafkajs-producer.js';

const topic = 'orders';
const partitions = 3;
const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
  ...{ partitionId, partitionErrorCode: 0, leader: 1, replicas: [1], isr: [1] },
}));

/** A kafkajs that reports success although it has sent nothing to a partition. */
function kafkaLeavingOut(isLeftOut: (partition: number) => boolean): Kafka {
  const producer = ({ createPartitioner }: ProducerConfig) => ({
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    sendBatch: ({ topicMessages = [] }: ProducerBatch) => {
      const place = createPartitioner?.() ?? (() => 0);
      const used = topicMessages.flatMap(({ messages }) =>
        messages.map((message: Message) => place({ topic, partitionMetadata, message })),
      );
      const answered = [...new Set(used)].filter((partition) => !isLeftOut(partition));
      return Promise.resolve(
        answered.map((partition) => ({ topicName: topic, partition, errorCode: 0 })),
      );
    },
  });
  return { producer } as unknown as Kafka;
}

const messages = Array.from({ length: 20 }, (_, n) => ({
  ...{ topic, key: `payment-${n}`, value: '1', headers: {} },
}));

it('takes a send for done when every partition with messages has answered', async () => {
  const producer = await openProducer(kafkaLeavingOut(() => false));
  await producer.send(messages);
  await producer.send(messages.slice(0, 1));
});

it('fails a send that kafkajs takes for done although a partition got nothing', async () => {
  const producer = await openProducer(kafkaLeavingOut((partition) => partition === 1));
  const failure = await producer.send(messages).catch((error: unknown) => error as KafkaFailure);
  expect(failure).toMatchObject({ name: 'KafkaFailure', message: 'orders/1 got no messages' });
});

it('closes the connections of a producer that the broker gives no ID', async () => {
  let isOpen = false;
  const producer = () => ({
    connect: () => {
      isOpen = true;
      return Promise.reject(new Error('the coordinator is loading'));
    },
    disconnect: () => {
      isOpen = false;
      return Promise.reject(new Error('the broker has closed it'));
    },
  });
  const opening = openProducer({ producer } as unknown as Kafka);
  await expect(opening).rejects.toThrow('the coordinator is loading');
  expect(isOpen).toBe(false);
});
