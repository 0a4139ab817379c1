/** Every message of every topic of a system, with keys and headers. */
import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

const quietLimitMs = 30_000;

export interface ReadMessage {
  /** Without the system's prefix. */
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  readonly headers: string;
}

/** All messages as one text. */
export async function readTopics(environment: Readonly<Record<string, string>>): Promise<string> {
  const messages = await readMessages(environment);
  return messages.map(({ key, value, headers }) => `${key} ${value} ${headers}`).join('\n');
}

/** Empty on the embedded broker: its topics are the event store's own tables. */
export async function readMessages(
  environment: Readonly<Record<string, string>>,
): Promise<readonly ReadMessage[]> {
  const { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix = '' } = environment;
  if (!brokers) return [];
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
  const wanted = await endsOf(admin, topics);
  await admin.disconnect();

  const messages: ReadMessage[] = [];
  const consumer = kafka.consumer({ groupId: `${prefix}reader-${randomUUID()}` });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${wanted.size} partitions unread`)),
      quietLimitMs,
    );
    const done = () => {
      if (wanted.size > 0) return;
      clearTimeout(timer);
      resolve();
    };
    done();
    consumer
      .run({
        eachMessage: ({ topic, partition, message }) => {
          messages.push({
            topic: topic.slice(prefix.length),
            key: String(message.key),
            value: String(message.value),
            headers: headersOf(message.headers),
          });
          if (BigInt(message.offset) + 1n >= (wanted.get(`${topic}/${partition}`) ?? 0n))
            wanted.delete(`${topic}/${partition}`);
          done();
          return Promise.resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return messages;
}

type Admin = ReturnType<Kafka['admin']>;

/** The end offset of each partition that holds anything. */
async function endsOf(admin: Admin, topics: readonly string[]): Promise<Map<string, bigint>> {
  const ends = new Map<string, bigint>();
  for (const topic of topics)
    for (const { partition, high } of await admin.fetchTopicOffsets(topic))
      if (BigInt(high) > 0n) ends.set(`${topic}/${partition}`, BigInt(high));
  return ends;
}

function headersOf(headers: Readonly<Record<string, unknown>> | undefined): string {
  return Object.entries(headers ?? {})
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}

/** Publishes a message that none of ours would be. Nothing on the embedded broker, which takes none. */
export async function publish(
  environment: Readonly<Record<string, string>>,
  topic: string,
  message: { readonly key: string; readonly value: string },
): Promise<void> {
  const { KAFKA_BROKERS: brokers, KAFKA_PREFIX: prefix = '' } = environment;
  if (!brokers) return;
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: `${prefix}${topic}`, messages: [message] });
  await producer.disconnect();
}
