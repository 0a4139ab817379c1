/** A system in which every app runs more than once. A test may kill each of its processes but the bank's. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startPostgres } from '@pis/local-servers';
import {
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import { Kafka, logLevel } from 'kafkajs';
import type pg from 'pg';
import { Api, type ApiResponse } from './api.js';
import { pisJson } from './process.js';
import { banksFileOfTheReadme } from './readme.js';
import { provision } from './systems.js';
import { startedWhole, type Undo } from './undo.js';
import { startApp, Victim } from './victim.js';

export interface ReplicatedSystem {
  /** By app. */
  readonly replicas: ReadonlyMap<string, readonly Victim[]>;
  readonly environment: Readonly<Record<string, string>>;
  readonly apiKey: string;
  readonly pool: pg.Pool;
  readonly receiver: HttpsReceiver;
  stop(): Promise<void>;
}

const databaseConnections = 3;
/** 18 processes with a pool each, and those that die while others start. */
const connectionsOfAll = 'max_connections=300';

export function startReplicatedSystem(
  counts: Readonly<Record<string, number>>,
): Promise<ReplicatedSystem> {
  return startedWhole((undo) => startParts(counts, undo));
}

async function startParts(
  counts: Readonly<Record<string, number>>,
  undo: Undo,
): Promise<Omit<ReplicatedSystem, 'stop'>> {
  const base = mkdtempSync(path.join(os.tmpdir(), 'pis-replicas-'));
  undo.push(() => rm(base, { recursive: true, force: true }));
  const receiver = await startHttpsReceiver();
  undo.push(() => receiver.close());
  const postgres = await startPostgres({
    ...{ dataDir: path.join(base, 'postgres'), database: 'pis', settings: [connectionsOfAll] },
  });
  undo.push(() => postgres.stop());
  const dataDir = path.join(base, 'data');
  const environment = {
    DATABASE_URL: postgres.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: dataDir,
    PIS_BANKS_FILE: banksFileOfTheReadme(dataDir),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: process.env['PIS_TEST_KAFKA_BROKERS'] ?? '',
    KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
  };
  await pisJson(['migrate'], environment);
  await pisJson(['kafka', 'apply'], environment);
  const { apiKey } = await provision(environment);
  const pool = openTestPool(postgres.url, databaseConnections);
  undo.push(() => pool.end());
  const bank = await startApp('bank-simulator', environment);
  undo.push(() => bank.kill());
  const replicas = new Map<string, readonly Victim[]>();
  for (const [app, count] of Object.entries(counts)) {
    const copies = Array.from(
      { length: count },
      () => new Victim(() => startApp(app, environment)),
    );
    for (const copy of copies) undo.push(() => copy.stop());
    await Promise.all(copies.map((copy) => copy.up()));
    replicas.set(app, copies);
  }
  return { replicas, environment, apiKey, pool, receiver };
}

export interface MadePayment {
  readonly paymentId: string;
  readonly amount: number;
}

const acceptLimitMs = 60_000;
const firstAmount = 100;

/** Clients of all gateways in turn. A request that fails goes to the next gateway, with the same key. */
export class Clients {
  readonly made: MadePayment[] = [];
  private amount = firstAmount;
  private turn = 0;
  private isEnding = false;
  private readonly working: Promise<unknown>;

  constructor(
    private readonly system: ReplicatedSystem,
    private readonly payment: Readonly<Record<string, unknown>>,
    private readonly delivered: () => number,
    { workers, aheadMax }: { readonly workers: number; readonly aheadMax: number },
  ) {
    this.working = Promise.all(Array.from({ length: workers }, () => this.work(aheadMax)));
    // Whoever waits for progress gets the error.
    this.working.catch(() => undefined);
  }

  /** Resolves when `condition` holds. Fails when a client does. */
  async meanwhile(condition: () => boolean, what: string, timeoutMs: number): Promise<void> {
    await Promise.race([until(condition, { timeoutMs, what, everyMs: 5 }), this.working]);
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await this.working;
  }

  private async work(aheadMax: number): Promise<void> {
    while (!this.isEnding) {
      const hasRoom = () => this.isEnding || this.made.length - this.delivered() < aheadMax;
      await until(hasRoom, { timeoutMs: acceptLimitMs, what: 'webhooks to arrive', everyMs: 5 });
      if (!this.isEnding) await this.create();
    }
  }

  private async create(): Promise<void> {
    const key = randomUUID();
    const amount = this.amount++;
    const body = { ...this.payment, paymentAmount: amount };
    const created = await until(
      async () => {
        const answer = await this.api()
          .createPayment(body, key)
          .catch((): ApiResponse | null => null);
        if (answer !== null && answer.status !== 201 && answer.status < 500)
          throw new Error(`a payment refused: ${answer.status} ${JSON.stringify(answer.body)}`);
        return answer?.status === 201 ? (answer.body.data as { paymentId: string }) : null;
      },
      { timeoutMs: acceptLimitMs, what: 'a payment accepted', everyMs: 20 },
    );
    this.made.push({ paymentId: created.paymentId, amount });
  }

  /** Of the next gateway. A dead one has no address, or refuses. */
  private api(): Api {
    const gateways = this.system.replicas.get('api-gateway') ?? [];
    const gateway = gateways[this.turn++ % gateways.length];
    return new Api(gateway?.url ?? '', this.system.apiKey);
  }
}

/** Partitions that a consumer group has not read to their ends, as `group: topic/partition at 3 of 7`. */
export async function unreadPartitions({
  environment,
}: ReplicatedSystem): Promise<readonly string[]> {
  const { KAFKA_BROKERS: brokers = '', KAFKA_PREFIX: prefix = '' } = environment;
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    const own = groups.filter(({ groupId }) => groupId.startsWith(prefix));
    if (own.length === 0) throw new Error('no consumer group');
    const unread: string[] = [];
    for (const { groupId } of own)
      for (const { topic, partitions } of await admin.fetchOffsets({ groupId })) {
        const committed = new Map(partitions.map((one) => [one.partition, one.offset]));
        for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
          const at = Math.max(0, Number(committed.get(partition) ?? 0));
          if (at < Number(high))
            unread.push(`${groupId}: ${topic}/${partition} at ${at} of ${high}`);
        }
      }
    return unread;
  } finally {
    await admin.disconnect();
  }
}
