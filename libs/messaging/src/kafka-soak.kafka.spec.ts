/**
 * Messages flow while brokers die or hang and while consumers come and go. Whatever was acknowledged is handled, each
 * key in order, and every partition is read and committed to its end: also one that nobody reads although the group
 * looks alive would fail here. The brokers belong to this file.
 */
import { type Kafka, startKafka } from '@pis/local-servers';
import { until } from '@pis/local-servers/testing';
import {
  kafkaClient,
  type KafkaClientName,
  kafkaClientNames,
  type KafkaSettings,
} from './kafka-client.js';
import { kafkaHarness } from './testing/kafka-harness.js';
import { type MessagingHarness, type Seen, Stage } from './testing/stage.js';

const withBroker = process.env['PIS_TEST_KAFKA_BROKERS'] === undefined ? describe.skip : describe;
/** More of them make a longer soak. */
const rounds = Number(process.env['PIS_SOAK_ROUNDS'] ?? 1);
/** Shorter than in production, because each fault costs some of them. */
const times = { requestTimeoutMs: 5_000, sessionTimeoutMs: 3_000 };
const stepLimitMs = 300_000;
const startLimitMs = 240_000;
const testLimitMs = (1 + rounds) * 600_000;
const partitions = 6;
const keys = Array.from({ length: 24 }, (_, n) => `k${n}`);
/** Messages that flow before, while and after something happens. */
const some = 240;
/** Published and not handled yet: enough to be in the middle of everything. */
const aheadMax = 480;
const quick = {
  'group.min.session.timeout.ms': '500',
  'replica.lag.time.max.ms': '3000',
  'broker.session.timeout.ms': '3000',
  'broker.heartbeat.interval.ms': '200',
};

/** Publishes one message of each key again and again, as the relay does: a batch that failed is sent again. */
class Flow {
  readonly acknowledged = new Set<string>();
  /** All that handlers saw, in order. */
  readonly handled: string[] = [];
  readonly #first = new Set<string>();
  readonly #outOfOrder: string[] = [];
  readonly #last = new Map<string, number>();
  readonly #consumers: Seen[] = [];
  #isOn = true;
  #failures = 0;
  readonly #publishing: Promise<void>;

  constructor(readonly stage: Stage) {
    this.#publishing = this.#publish();
  }

  get failures(): number {
    return this.#failures;
  }

  get duplicates(): number {
    return this.handled.length - this.#first.size;
  }

  /** A consumer of the group. */
  join(): Seen {
    const seen = this.stage.consume((value) => this.#see(value));
    this.#consumers.push(seen);
    return seen;
  }

  async leave(seen: Seen): Promise<void> {
    await seen.strategy.close();
  }

  /** @returns how many milliseconds it took until so many more messages were published and handled */
  async flows(count = some): Promise<number> {
    const sinceMs = performance.now();
    const [acknowledged, handled] = [this.acknowledged.size, this.#first.size];
    const what = `${count} more messages published and handled`;
    await until(
      () => this.acknowledged.size >= acknowledged + count && this.#first.size >= handled + count,
      { timeoutMs: stepLimitMs, what },
    );
    return performance.now() - sinceMs;
  }

  /** Ends the flow, and has each partition read to its end. */
  async end(ends: () => Promise<boolean>): Promise<void> {
    this.#isOn = false;
    await this.#publishing;
    const what = 'all acknowledged messages handled';
    await until(() => [...this.acknowledged].every((item) => this.#first.has(item)), {
      timeoutMs: stepLimitMs,
      what,
    });
    await until(ends, { timeoutMs: stepLimitMs, what: 'every partition committed to its end' });
    expect(this.#outOfOrder).toEqual([]);
  }

  async #publish(): Promise<void> {
    for (let n = 0; this.#isOn; n += 1) {
      const batch = keys.map((key) => `${key}:${n}`);
      while (!(await this.#sent(batch)));
      for (const item of batch) this.acknowledged.add(item);
      await until(() => !this.#isOn || this.acknowledged.size - this.#first.size < aheadMax, {
        timeoutMs: testLimitMs,
      });
    }
  }

  async #sent(batch: readonly string[]): Promise<boolean> {
    try {
      await this.stage.publish(...batch);
      return true;
    } catch {
      this.#failures += 1;
      return false;
    }
  }

  #see(value: string): void {
    this.handled.push(value);
    if (this.#first.has(value)) return;
    this.#first.add(value);
    const [key = '', text] = value.split(':');
    const n = Number(text);
    if (n !== (this.#last.get(key) ?? -1) + 1) this.#outOfOrder.push(value);
    this.#last.set(key, n);
  }
}

/** Whether the group has committed every partition to its end. */
async function isCommitted({ stage }: Flow, settings: KafkaSettings): Promise<boolean> {
  const admin = (await kafkaClient(settings)).admin();
  try {
    const ends = await admin.offsets(`spec.${stage.topic}`);
    const end = ends.reduce((sum, { high }) => sum + Number(high), 0);
    return (await stage.committed()) === end;
  } finally {
    await admin.close();
  }
}

/** Figures of a long soak. A short one is no measurement. */
function tell(client: KafkaClientName, what: string, value: number): void {
  if (process.env['PIS_SOAK_ROUNDS'] !== undefined)
    process.stderr.write(`${client}: ${what}: ${Math.round(value)}\n`);
}

withBroker.each(kafkaClientNames)(
  'a flow of messages, on %s (skipped without a broker)',
  (client) => {
    const settingsOf = (brokers: readonly string[]) => ({ brokers, clientId: 'soak-spec', client });

    describe('over one broker', () => {
      let kafka: Kafka;
      const settings = () => settingsOf(kafka.brokers);
      let flow: Flow;
      let harness: MessagingHarness;

      beforeAll(async () => {
        kafka = await startKafka({ properties: quick });
        harness = await kafkaHarness(kafka.brokers, { client, ...times });
      }, startLimitMs);
      beforeEach(async () => {
        flow = new Flow(await Stage.create(harness, partitions));
      });
      afterEach(() => flow?.stage.close(), stepLimitMs);
      afterAll(async () => {
        await harness?.close();
        await kafka?.stop();
      }, startLimitMs);

      it(
        'goes on after the broker was killed, again and again',
        async () => {
          flow.join();
          flow.join();
          await flow.flows();
          for (let round = 0; round < rounds; round += 1) {
            const { failures } = flow;
            await kafka.kill();
            await until(() => flow.failures > failures, { timeoutMs: stepLimitMs });
            await kafka.restart();
            tell(client, 'flows again after the broker came back', await flow.flows());
          }
          await flow.end(() => isCommitted(flow, settings()));
          tell(client, 'messages handled twice after deaths of the broker', flow.duplicates);
        },
        testLimitMs,
      );

      it(
        'goes on while consumers join and leave',
        async () => {
          let staying = [flow.join(), flow.join()];
          await flow.flows();
          for (let round = 0; round < rounds * 2; round += 1) {
            const joined = flow.join();
            await until(() => joined.values.length > 0, {
              timeoutMs: stepLimitMs,
              what: 'the new consumer has partitions',
            });
            const [leaving, ...others] = staying;
            if (leaving !== undefined) await flow.leave(leaving);
            staying = [...others, joined];
            tell(client, 'flows again after one joined and one left', await flow.flows());
          }
          await flow.end(() => isCommitted(flow, settings()));
          tell(client, 'messages handled twice after rebalances', flow.duplicates);
        },
        testLimitMs,
      );
    });

    describe('over three brokers', () => {
      let cluster: Kafka[];
      const settings = () => settingsOf(cluster.flatMap(({ brokers }) => brokers));
      let harness: MessagingHarness;
      let flow: Flow;

      beforeAll(async () => {
        const properties = {
          ...quick,
          'default.replication.factor': '3',
          'min.insync.replicas': '2',
          'offsets.topic.replication.factor': '3',
        };
        const first = await startKafka({ properties });
        cluster = [first];
        for (const nodeId of [2, 3])
          cluster.push(await startKafka({ properties, joins: { cluster: first, nodeId } }));
        harness = await kafkaHarness(settings().brokers, { client, ...times });
        flow = new Flow(await Stage.create(harness, partitions));
      }, startLimitMs);
      afterAll(async () => {
        await flow?.stage.close();
        await harness?.close();
        for (const broker of (cluster ?? []).reverse()) await broker.stop();
      }, startLimitMs);

      it(
        'goes on while one of them hangs, and while one is dead',
        async () => {
          flow.join();
          flow.join();
          await flow.flows();
          const [, second, third] = cluster as [Kafka, Kafka, Kafka];
          for (let round = 0; round < rounds; round += 1) {
            const [hanging, dead] = round % 2 === 0 ? [second, third] : [third, second];
            process.kill(hanging.pid, 'SIGSTOP');
            try {
              tell(client, 'flows although a broker hangs', await flow.flows());
            } finally {
              process.kill(hanging.pid, 'SIGCONT');
            }
            tell(client, 'flows after it answers again', await flow.flows());
            await dead.kill();
            tell(client, 'flows although a broker is dead', await flow.flows());
            await dead.restart();
            tell(client, 'flows after it came back', await flow.flows());
          }
          await flow.end(() => isCommitted(flow, settings()));
          tell(client, 'messages handled twice over three brokers', flow.duplicates);
        },
        testLimitMs,
      );
    });
  },
);
