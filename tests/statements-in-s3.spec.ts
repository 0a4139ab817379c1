/** Statements in an S3-compatible store, with the whole system: also while the store is gone. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { lastEndedMonth, monthOf, originator } from '@pis/domain';
import { postgresEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { s3Programs, type S3Server, startS3 } from '@pis/local-servers';
import { openTestPool, until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './support/api.js';
import { keyringOf } from './support/living-keys.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';
import { allInOne, type System } from './support/systems.js';

const { programs, missing } = await s3Programs();
const withServer = programs === null ? describe.skip : describe;
/** Java and the system, on a busy machine. */
const startLimitMs = 600_000;
const testLimitMs = 600_000;
const listedWithinMs = 120_000;
const zone = 'America/New_York';
const last = lastEndedMonth(zone, new Date(Date.now() - 86_400_000));

withServer(`statements in S3${missing === null ? '' : `: ${missing}`}`, () => {
  let dataDir: string;
  let server: S3Server;
  let system: System;
  let pool: pg.Pool;
  let api: Api;
  beforeAll(async () => {
    if (programs === null) return;
    dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-statements-in-s3-'));
    server = await startS3(programs);
    system = await allInOne({
      PIS_DATA_DIR: dataDir,
      PIS_DOCUMENT_STORE: `s3://${server.bucket}/of/pis?endpoint=${server.endpoint}`,
      AWS_ACCESS_KEY_ID: server.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.credentials.secretAccessKey,
    });
    pool = openTestPool(system.databaseUrl, 2);
    api = new Api(system.apiUrl, system.apiKey);
  }, startLimitMs);
  afterAll(async () => {
    await pool?.end();
    await system?.stop();
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }, startLimitMs);

  /** In the middle of the last month. The organization is of this month, so the monthly job leaves it alone. */
  async function createOriginator(): Promise<string> {
    const originatorId = randomUUID();
    const store = sealedStore(postgresEventStore({ pool }), keyringOf(system, pool));
    const { from, to } = monthOf(zone, last.year, last.month);
    const data = {
      ...{ originatorId, organizationId: system.organizationId, entityType: 'BUSINESS' as const },
      ...{ companyName: 'Acme Parts', firstName: null, lastName: null, phoneNumber: null },
      ...{ email: 'parts@acme.example', legalAddress: null, bankAccount: null },
    };
    const at = new Date((from.getTime() + to.getTime()) / 2).toISOString();
    const command = { type: 'CreateOriginator', at, data } as const;
    await repository(store, originator).create(originatorId, command, systemContext('test'));
    await store.close();
    return originatorId;
  }

  const generating = (originatorId: string) => [
    ...['statements', 'generate', '--originator', originatorId],
    ...['--year', String(last.year), '--month', String(last.month)],
  ];
  const generate = async (originatorId: string) => {
    const { statements } = await pisJson<{ statements: { statementId: string }[] }>(
      generating(originatorId),
      system.environment,
    );
    expect(statements).toEqual([{ originatorId, statementId: expect.any(String), isNew: true }]);
    return statements[0]?.statementId ?? '';
  };
  const download = (statementId: string) =>
    fetch(`${system.apiUrl}/v1/statements/${statementId}/pdf`, {
      headers: { authorization: `Bearer ${system.apiKey}` },
    });
  const recorded = async () => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM events WHERE type = 'StatementGenerated'`,
    );
    return rows[0]?.count;
  };

  async function expectDownload(statementId: string): Promise<void> {
    const record = `/v1/statements/${statementId}`;
    const { sha256 } = await api.data<{ sha256: string }>(200, 'GET', record);
    const response = await download(statementId);
    expect(response.status).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  }

  it(
    'are generated into it, listed and downloaded; while it is gone nothing is recorded, and afterwards all is there',
    async () => {
      const [first, second] = [await createOriginator(), await createOriginator()];
      const statementId = await generate(first);
      const listed = await until(
        async () => {
          const list = `/v1/statements?originatorId=${first}`;
          const found = await api.data<{ statementId: string }[]>(200, 'GET', list);
          return found.length > 0 && found;
        },
        { timeoutMs: listedWithinMs },
      );
      expect(listed).toMatchObject([{ statementId, originatorId: first }]);
      await expectDownload(statementId);
      // The server keeps each object in a file, below a folder for each part of its name.
      const objects = readdirSync(path.join(server.dataDir, server.bucket, 'of/pis'), {
        recursive: true,
        withFileTypes: true,
      }).filter((entry) => entry.isFile() && entry.parentPath.includes(statementId));
      expect(objects).toHaveLength(1);
      const inDatabase = await pool.query('SELECT FROM document_chunks');
      expect(inDatabase.rowCount).toBe(0);

      await server.kill();
      const refused = await download(statementId);
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
      const generation = await pis([...generating(second), '--json'], system.environment);
      expectRefusal(generation, /s3:\/\/documents at .* cannot be used now/);
      expect(await recorded()).toBe(1);

      await server.restart();
      await expectDownload(statementId);
      await expectDownload(await generate(second));
      expect(await recorded()).toBe(2);
    },
    testLimitMs,
  );
});
