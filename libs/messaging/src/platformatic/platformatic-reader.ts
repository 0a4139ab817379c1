import { type ClusterMetadata, type Consumer, ResponseError } from '@platformatic/kafka';
import { abortableDelay } from '../delay.js';
import { failureOf, type KafkaFailure } from '../kafka-failure.js';
import { kafkaLimits, type FetchedMessage, type MemberEvents } from '../kafka-port.js';

/** Where a partition is read next. */
interface Position {
  readonly topic: string;
  readonly partition: number;
  next: bigint;
  isPaused: boolean;
}

/**
 * Reads partitions from their leaders: one request at a time to each broker, so that a broker that hangs holds
 * up only what it leads. The library's own stream pauses only as a whole, and a full partition would stop the
 * others.
 */
export class PartitionReader {
  readonly #positions = new Map<string, Position>();
  /** By node: the loops that run. */
  readonly #loops = new Map<number, Promise<void>>();
  readonly #stopped = new AbortController();
  #failuresInRow = 0;

  constructor(
    /** A consumer that is no member of a group. Its connections carry fetches only. */
    private readonly client: Consumer,
    private readonly topics: readonly string[],
    private readonly events: MemberEvents,
    /** Called when no broker can be asked for the leaders. */
    private readonly broken: (failure: KafkaFailure) => void,
  ) {
    for (const topic of topics) client.topics.track(topic);
  }

  /** Reads these from now on, each from its position, and no others. Null keeps the position that it has. */
  assign(
    positions: readonly (Omit<Position, 'isPaused' | 'next'> & { readonly next: bigint | null })[],
  ) {
    const before = new Map(this.#positions);
    this.#positions.clear();
    for (const { topic, partition, next } of positions) {
      const name = nameOf(topic, partition);
      const known = before.get(name);
      if (next !== null) this.#positions.set(name, { topic, partition, next, isPaused: false });
      else if (known !== undefined) this.#positions.set(name, known);
    }
    void this.#drive();
  }

  has(topic: string, partition: number): boolean {
    return this.#positions.has(nameOf(topic, partition));
  }

  stop(): void {
    this.#stopped.abort();
    this.#positions.clear();
  }

  /** Starts a loop for each broker that leads something to read and has none. */
  async #drive(): Promise<void> {
    if (this.#stopped.signal.aborted || this.#due().length === 0) return;
    try {
      const metadata = await this.client.metadata({ topics: [...this.topics] });
      const leaderless: string[] = [];
      for (const position of this.#due()) {
        const node = leaderOf(metadata, position);
        if (node === null) leaderless.push(nameOf(position.topic, position.partition));
        else if (!this.#loops.has(node)) this.#loops.set(node, this.#loop(node));
      }
      // The others are read meanwhile.
      if (leaderless.length > 0) throw new Error(`${leaderless.join(', ')}: no leader`);
    } catch (error) {
      await this.#failed(error);
      void this.#drive();
    }
  }

  async #loop(node: number): Promise<void> {
    try {
      while (!this.#stopped.signal.aborted && (await this.#round(node)));
    } catch (error) {
      await this.#failed(error);
    }
    this.#loops.delete(node);
    void this.#drive();
  }

  /** @returns false when this broker leads nothing to read */
  async #round(node: number): Promise<boolean> {
    const metadata = await this.client.metadata({ topics: [...this.topics] });
    const due = this.#due().filter((position) => leaderOf(metadata, position) === node);
    if (due.length === 0) return false;
    const { response, failure } = await this.#fetch(node, metadata, due);
    this.#failuresInRow = 0;
    if (this.#stopped.signal.aborted) return false;
    this.events.alive();
    const names = new Map([...metadata.topics].map(([topic, { id }]) => [id, topic]));
    for (const { topicId, partitions } of response?.responses ?? []) {
      const topic = names.get(topicId);
      for (const part of partitions) {
        const position = due.find(
          (wanted) => wanted.topic === topic && wanted.partition === part.partitionIndex,
        );
        if (position !== undefined) this.#deliver(position, part);
      }
    }
    if (failure !== null) await this.#failed(failure);
    return true;
  }

  /**
   * No response after it has moved positions that the log no longer has. With a failure, the response has the
   * partitions that the broker does give: one that it refuses must not keep the others from being read.
   */
  async #fetch(
    node: number,
    metadata: ClusterMetadata,
    due: readonly Position[],
  ): Promise<{ readonly response: FetchResponse | null; readonly failure: unknown }> {
    const byTopic = Map.groupBy(due, ({ topic }) => topic);
    try {
      const response = await this.client.fetch({
        node,
        maxWaitTime: kafkaLimits.fetchWaitMs,
        minBytes: 1,
        maxBytes: fetchBytesMax,
        topics: [...byTopic].map(([topic, positions]) => ({
          topicId: metadata.topics.get(topic)?.id ?? '',
          partitions: positions.map(({ partition, next }) => ({
            partition,
            fetchOffset: next,
            partitionMaxBytes: kafkaLimits.partitionBytesMax,
            currentLeaderEpoch: -1,
            lastFetchedEpoch: -1,
          })),
        })),
      });
      return { response, failure: null };
    } catch (error) {
      if (failureOf(error).types.includes('OFFSET_OUT_OF_RANGE')) {
        await this.#moveIntoRange(due);
        return { response: null, failure: null };
      }
      const response = partOfResponse(error);
      if (response === null) throw error;
      return { response, failure: error };
    }
  }

  /** Messages before the first one left were deleted, or the topic was made anew: goes on at its first one. */
  async #moveIntoRange(due: readonly Position[]): Promise<void> {
    for (const position of due) {
      const { topic, partition, next } = position;
      const at = async (timestamp: bigint) => {
        const found = await this.client.listOffsets({
          topics: [topic],
          partitions: { [topic]: [partition] },
          timestamp,
        });
        return found.get(topic)?.[partition] ?? 0n;
      };
      const [first, end] = [await at(earliest), await at(latest)];
      if (next < first || next > end) position.next = first;
    }
  }

  #deliver(position: Position, part: FetchedPart): void {
    const { topic, partition, next: from } = position;
    // Taken away meanwhile.
    if (this.#positions.get(nameOf(topic, partition)) !== position) return;
    let next = from;
    const messages: FetchedMessage[] = [];
    for (const batch of part.records ?? []) {
      next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
      if ((batch.attributes & controlBatch) !== 0) continue;
      for (const record of batch.records) {
        const offset = batch.firstOffset + BigInt(record.offsetDelta);
        if (offset < from) continue;
        messages.push({
          offset,
          key: record.key?.toString() ?? '',
          // A tombstone has none.
          value: (record.value as Buffer | null)?.toString() ?? '',
          headers: textHeaders(record.headers),
          timestamp: Number(batch.firstTimestamp + record.timestampDelta),
        });
      }
    }
    if (next === from) return;
    const { highWatermark } = part;
    const taken = this.events.fetched({ topic, partition, highWatermark, next, messages });
    if (taken === null) return;
    position.next = next;
    if (taken.room === null) return;
    position.isPaused = true;
    void taken.room.then(() => {
      position.isPaused = false;
      void this.#drive();
    });
  }

  /** Leaders move when a broker is lost. Only a cluster that tells no leaders ends the reader. */
  async #failed(error: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.client.clearMetadata();
    this.#failuresInRow += 1;
    const failure = failureOf(error);
    if (this.#failuresInRow >= failuresMax && !(await this.#isClusterThere())) this.broken(failure);
    await abortableDelay(pauseMs, this.#stopped.signal);
  }

  async #isClusterThere(): Promise<boolean> {
    try {
      await this.client.metadata({ topics: [...this.topics] });
      return true;
    } catch {
      return false; // The failure that led here is reported.
    }
  }

  #due(): Position[] {
    return [...this.#positions.values()].filter(({ isPaused }) => !isPaused);
  }
}

type FetchResponse = Awaited<ReturnType<Consumer['fetch']>>;
type FetchedPart = FetchResponse['responses'][number]['partitions'][number];

/**
 * The library throws a response in which a partition has an error, also after it has tried again. Null when the last
 * response gives no partition at all.
 */
function partOfResponse(error: unknown): FetchResponse | null {
  const tries = error instanceof AggregateError ? [error, ...(error.errors as unknown[])] : [error];
  const last = tries.findLast((one) => one instanceof ResponseError);
  const response = last?.['response'] as FetchResponse | undefined;
  const isGiven = response?.responses.some(({ partitions }) =>
    partitions.some(({ errorCode }) => errorCode === 0),
  );
  return response !== undefined && isGiven === true ? response : null;
}

const earliest = -2n;
const latest = -1n;
const controlBatch = 0x20;
const fetchBytesMax = 10 * 1_048_576;
const failuresMax = 3;
const pauseMs = 200;

function leaderOf(metadata: ClusterMetadata, { topic, partition }: Position): number | null {
  const leader = metadata.topics.get(topic)?.partitions[partition]?.leader ?? noLeader;
  return leader === noLeader ? null : leader;
}

const noLeader = -1;

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Headers as text; of a repeated header the last one counts. */
function textHeaders(
  headers: Iterable<readonly [Buffer | null, Buffer | null]>,
): Record<string, string> {
  const text: Record<string, string> = {};
  for (const [name, value] of headers)
    if (name !== null) text[name.toString()] = value?.toString() ?? '';
  return text;
}
