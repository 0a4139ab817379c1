/** Exports of made-up payments on a real PostgreSQL, for tests. */
import { randomUUID } from 'node:crypto';
import { type DocumentStore, postgresDocuments } from '@pis/documents';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { ExportFiles } from './export-files.js';
import {
  type ExportRecord,
  type ExportRequest,
  exportRequests,
  type ExportRequests,
} from './export-table.js';
import {
  ExportWorker,
  type ExportWorkerLimits,
  type ExportWorkerOptions,
} from './export-worker.js';
import { pieceSources } from './pieces.js';

/** The contact of every payment that is listed. */
export const payer = randomUUID();
/** Small parts, so that a file has many: one a turn, however long it takes. */
const limits: Partial<ExportWorkerLimits> = { partBytes: 1, leaseMs: 60_000, turnMs: Infinity };

export async function startExportScene(): Promise<ExportScene> {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 8);
  return new ExportScene(database, pool, await testKeyringOn(pool));
}

export class ExportScene {
  readonly documents: DocumentStore;
  readonly requests: ExportRequests;
  /** What workers reported. A test takes out what it expects. */
  readonly failures: unknown[] = [];
  private readonly files: ExportFiles;

  constructor(
    private readonly database: TestDatabase,
    readonly pool: pg.Pool,
    readonly keyring: Keyring,
  ) {
    this.documents = postgresDocuments(pool, keyring);
    this.files = new ExportFiles(pool, this.documents);
    this.requests = exportRequests(pool);
  }

  /** @throws Error when a worker reported a failure that the test did not expect */
  async close(): Promise<void> {
    await this.pool.end();
    await this.database.drop();
    if (this.failures.length > 0) throw new Error('an export failed', { cause: this.failures[0] });
  }

  worker(
    changes: Partial<ExportWorkerLimits> = {},
    {
      from = this.documents,
      ...options
    }: Partial<ExportWorkerOptions> & { readonly from?: DocumentStore } = {},
  ): ExportWorker {
    return new ExportWorker({
      pool: this.pool,
      files: new ExportFiles(this.pool, from),
      sources: pieceSources(this.pool),
      progressOf: () => null,
      isHeld: () => Promise.resolve(false),
      destroyKeys: (owners) => this.keyring.destroy(owners),
      onFailure: (error) => this.failures.push(error),
      onRemovalFailure: (error) => this.failures.push(error),
      limits: { ...limits, ...changes },
      ...options,
    });
  }

  /** Rows of the list, a millisecond apart, many with the same time. */
  async listed(organizationId: string, count: number, originatorId = randomUUID()) {
    await this.pool.query(
      `INSERT INTO payments (payment_id, organization_id, originator_id, contact_id, status, direction,
          payment_rail, created_at, revision, item)
        SELECT id, $1, $2::uuid, $4::uuid, 'COMPLETED', 'OUTBOUND', 'ACH', at, 0, json_build_object(
          'paymentId', id, 'status', 'COMPLETED', 'createdAt', at, 'completedAt', NULL, 'failedAt', NULL,
          'returnedAt', NULL, 'canceledAt', NULL, 'paymentAmount', n, 'discountFee', 1, 'flatFee', 2,
          'returnFee', 3, 'currencyCode', 'USD', 'paymentRail', 'ACH', 'direction', 'OUTBOUND',
          'paymentNote', '=1+1', 'externalPaymentId', 'a,"b"', 'failureCode', NULL, 'failureMessage', NULL,
          'originator', json_build_object('id', $2::uuid, 'firstName', NULL, 'lastName', NULL,
            'companyName', 'Board LLC', 'entityType', 'BUSINESS'),
          'contact', json_build_object('id', $4::uuid, 'firstName', 'Ada', 'lastName', 'Byron',
            'companyName', NULL, 'entityType', 'INDIVIDUAL'))
        FROM (SELECT gen_random_uuid() AS id, n,
            timestamptz '2026-11-01T00:00:00Z' + (n / 3) * interval '1 millisecond' AS at
          FROM generate_series(1, $3::integer) AS n) AS rows`,
      [organizationId, originatorId, count, payer],
    );
  }

  async asked(changes: Partial<ExportRequest> = {}): Promise<ExportRecord> {
    const created = await this.requests.create({
      id: randomUUID(),
      organizationId: randomUUID(),
      fileId: randomUUID(),
      kind: 'payments',
      format: 'jsonl',
      originatorId: null,
      from: null,
      to: null,
      throughPosition: '',
      requestedBy: 'apiKey:1',
      requestedAt: new Date(),
      ...changes,
    });
    if (created === null) throw new Error('it was refused');
    return created;
  }

  async now({ id }: ExportRecord): Promise<ExportRecord> {
    const found = await this.requests.find(id);
    if (found === null) throw new Error('there is no such export');
    return found;
  }

  async textOf(record: ExportRecord, range = { start: 0, end: record.sizeBytes }) {
    const parts: Uint8Array[] = [];
    for await (const part of this.files.read(record, range)) parts.push(part);
    return Buffer.concat(parts).toString();
  }

  async finish(writer: ExportWorker, record: ExportRecord): Promise<ExportRecord> {
    for (;;) {
      await writer.round();
      const found = await this.now(record);
      if (found.status !== 'queued' && found.status !== 'running') return found;
    }
  }
}
