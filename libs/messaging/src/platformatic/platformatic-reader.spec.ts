import { type Consumer, ResponseError } from '@platformatic/kafka';
import { until } from '@pis/local-servers/testing';
import { PartitionReader } from './platformatic-reader.js';

const [fetchApi, fetchVersion] = [1, 17];
/** Kafka's KAFKA_STORAGE_ERROR: the disk of a partition. */
const storageError = 56;

/**
 * A cluster of one topic whose partition 1 is led by broker 1. Each fetch returns the next message, unless
 * partition 0 has an error.
 */
function clusterWith(partition0: { leader: number; errorCode?: number }): Consumer {
  const part = (index: number, offset: bigint) => ({
    partitionIndex: index,
    errorCode: 0,
    highWatermark: offset + 1n,
    records: [
      {
        ...{ firstOffset: offset, lastOffsetDelta: 0, attributes: 0, firstTimestamp: 0n },
        records: [
          {
            ...{ offsetDelta: 0, timestampDelta: 0n, headers: [] },
            ...{ key: Buffer.from('key'), value: Buffer.from('value') },
          },
        ],
      },
    ],
  });
  return {
    topics: { track: () => undefined },
    clearMetadata: () => undefined,
    metadata: () =>
      Promise.resolve({
        topics: new Map([
          ['orders', { id: 'id', partitions: [{ leader: partition0.leader }, { leader: 1 }] }],
        ]),
      }),
    async fetch({ topics }: { topics: { partitions: Wanted[] }[] }) {
      // As the network does, it lets others run.
      await new Promise((resolve) => setImmediate(resolve));
      const wanted = topics.flatMap(({ partitions }) => partitions);
      const { errorCode = 0 } = partition0;
      const partitions = wanted.map(({ partition, fetchOffset }) =>
        partition === 0 && errorCode !== 0
          ? { ...part(0, fetchOffset), errorCode, records: null }
          : part(partition, fetchOffset),
      );
      const response = { responses: [{ topicId: 'id', partitions }] };
      const path = '/responses/0/partitions/0';
      if (partitions.some((one) => one.errorCode !== 0))
        throw new ResponseError(fetchApi, fetchVersion, { [path]: [errorCode, null] }, response);
      return response;
    },
  } as unknown as Consumer;
}

interface Wanted {
  readonly partition: number;
  readonly fetchOffset: bigint;
}

it.each([
  { what: 'has no leader', trouble: { leader: -1 } },
  { what: 'has an error', trouble: { leader: 1, errorCode: storageError } },
])('reads the other partitions while one $what, and that one afterwards', async ({ trouble }) => {
  const partition0: { leader: number; errorCode?: number } = { ...trouble };
  const read = new Set<number>();
  const broken: unknown[] = [];
  const reader = new PartitionReader(
    clusterWith(partition0),
    ['orders'],
    {
      alive: () => undefined,
      joined: () => undefined,
      rebalancing: () => Promise.resolve(),
      fetched({ partition }) {
        read.add(partition);
        return { room: null };
      },
    },
    (failure) => broken.push(failure),
  );
  reader.assign([0, 1].map((partition) => ({ topic: 'orders', partition, next: 0n })));
  try {
    await until(() => read.has(1), { timeoutMs: 60_000, what: 'partition 1 read' });
    expect(read.has(0)).toBe(false);
    Object.assign(partition0, { leader: 1, errorCode: 0 });
    await until(() => read.has(0), { timeoutMs: 60_000, what: 'partition 0 read' });
  } finally {
    reader.stop();
  }
  expect(broken).toEqual([]);
});
