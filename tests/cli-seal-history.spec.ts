/** The operator who asks what earlier versions have left in plain text: `pis keys seal-history`. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { postgresEventStore, systemContext } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { pisJson } from './support/process.js';

const testLimitMs = 120_000;

it(
  'seal-history reports plain events of earlier versions and deletes plain snapshots; new events are sealed',
  async () => {
    const base = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-seal-history-'));
    const database = await createTestDatabase();
    const pool = openTestPool(database.url, 3);
    const store = postgresEventStore({ pool });
    try {
      const key = randomBytes(32).toString('base64');
      const env = {
        DATABASE_URL: database.url,
        PIS_DATA_DIR: path.join(base, 'data'),
        PIS_MASTER_KEY: key,
      };
      const { organizationId } = (await pisJson(
        ['organization', 'create', '--name', 'Acme'],
        env,
      )) as { organizationId: string };
      const file = path.join(base, 'originator.json');
      const bankAccount = {
        subType: 'CHECKING',
        achRoutingNumber: '021000021',
        achAccountNumber: '000123456789',
      };
      const email = 'treasury@northwind.example';
      const input = { entityType: 'BUSINESS', companyName: 'Northwind', email, bankAccount };
      writeFileSync(file, JSON.stringify(input));
      await pisJson(
        ['originator', 'create', '--organization', organizationId, '--file', file],
        env,
      );
      const stored = await pool.query<{ text: string }>(
        'SELECT e::text AS text FROM events e UNION ALL SELECT k::text FROM data_keys k',
      );
      expect(JSON.stringify(stored.rows)).not.toMatch(/northwind|\*6789|\*0021|000123456789/i);

      const contactId = randomUUID();
      const metadata = {
        ...systemContext('test'),
        at: new Date().toISOString(),
        schemaVersion: 1,
        previousHash: null,
      };
      const data = { contactId, organizationId, firstName: 'Ada', dataKey: 'id.wrapped' };
      await store.append(`contact-${contactId}`, 'noStream', [
        { id: randomUUID(), type: 'ContactCreated', data, metadata },
      ]);
      await pool.query(
        `INSERT INTO stream_snapshots (stream_id, version, revision, event_id, state, code)
         VALUES ($1, 'old', 199, gen_random_uuid(), '{"firstName":"Ada"}', 'code')`,
        [`contact-${contactId}`],
      );
      const sealHistory = () => pisJson(['keys', 'seal-history'], env);
      const found = {
        plainEvents: {
          contact: 1,
          originator: 0,
          payment: 0,
          user: 0,
          userAction: 0,
          approval: 0,
          collection: 0,
        },
        parties: [`contact:${contactId}`],
        hasMoreParties: false,
      };
      expect(await sealHistory()).toEqual({ ...found, snapshotsDeleted: 1 });
      expect(await sealHistory()).toEqual({ ...found, snapshotsDeleted: 0 });
    } finally {
      await store.close();
      await pool.end();
      await database.drop();
      rmSync(base, { recursive: true, force: true });
    }
  },
  testLimitMs,
);
