/** The progress of consumer groups in their topics, seen from outside the groups. */
import { type Ends, endsOf, onceCoordinated, reached } from './kafka-dead-letters.js';
import { kafkaClient, type KafkaAdmin, type KafkaSettings } from './kafka-client.js';

/** How long a broker may take to load a group at the first query. */
const coordinatorMs = 10_000;

export interface GroupProgress {
  /** Where the topics end now. */
  ends(): Promise<Ends>;
  /** Whether a group has committed everything before those ends. */
  hasReached(group: string, ends: Ends): Promise<boolean>;
  close(): Promise<void>;
}

/** Connects at the first query. @throws KafkaFailure when the broker is away */
export function kafkaProgress(
  settings: KafkaSettings,
  { prefix, topics }: { readonly prefix: string; readonly topics: readonly string[] },
): GroupProgress {
  let connecting: Promise<KafkaAdmin> | null = null;
  const connected = () => {
    connecting ??= kafkaClient(settings).then((client) => client.admin());
    return connecting;
  };
  return {
    async ends() {
      return endsOf(
        await connected(),
        topics.map((topic) => prefix + topic),
      );
    },
    async hasReached(group, ends) {
      const admin = await connected();
      const deadlineMs = performance.now() + coordinatorMs;
      return onceCoordinated(() => reached(admin, prefix + group, ends), deadlineMs);
    },
    async close() {
      const admin = await connecting?.catch(() => null);
      await admin?.close();
    },
  };
}
