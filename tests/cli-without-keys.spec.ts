/** Commands that open nothing sealed run without a master key, so that a migration job needs no access to it. */
import { randomUUID } from 'node:crypto';
import { createTestDatabase } from '@pis/local-servers/testing';
import { pis } from './support/process.js';

const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];
const limitMs = 120_000;

it(
  'pis migrate needs no master key in production',
  async () => {
    const database = await createTestDatabase();
    try {
      const environment = { PIS_ENVIRONMENT: 'production', DATABASE_URL: database.url };
      expect(await pis(['migrate'], environment)).toMatchObject({ code: 0, stderr: '' });
    } finally {
      await database.drop();
    }
  },
  limitMs,
);

(brokers ? it : it.skip)(
  'pis kafka apply needs no master key in production',
  async () => {
    const environment = {
      PIS_ENVIRONMENT: 'production',
      PIS_BROKER: 'kafka',
      KAFKA_BROKERS: brokers ?? '',
      KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    };
    const replication = ['--replication-factor', '1', '--min-insync-replicas', '1'];
    const applied = await pis(['kafka', 'apply', ...replication], environment);
    expect(applied).toMatchObject({ code: 0 });
  },
  limitMs,
);
