import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { proveStream } from '@pis/audit';
import { at, ids, originatorExample } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import { directoryQuery } from '@pis/read-models';
import { appendEvents } from '@pis/read-models/testing';
import { startOnTestPlatform, type TestPlatform } from '@pis/service-kit/testing';
import { DirectoryProjectorModule } from './directory-projector.module.js';

const timeoutMs = 20_000;

describe('the directory projector', () => {
  let platform: TestPlatform;

  beforeEach(async () => {
    platform = await startOnTestPlatform(
      DirectoryProjectorModule.register({
        PIS_WEBHOOK_TIMEOUT_MS: 30_000,
        PIS_ENVIRONMENT: 'production',
        PIS_DATA_DIR: 'unused',
        PIS_AUDIT_KEY: Buffer.alloc(32, 1).toString('base64'),
      }),
    );
  });
  afterEach(() => platform.close());

  it('keeps the lists of parties up with the log', async () => {
    const { store, pool, health } = platform;
    await appendEvents(store, `originator-${ids.originator}`, [
      { type: 'OriginatorCreated', at, data: originatorExample() },
    ]);
    const { originators } = directoryQuery(pool);
    await until(async () => (await originators(ids.organization)).items.length === 1, {
      timeoutMs,
    });
    expect((await health.readiness()).dependencies).toEqual({
      'projection:directory': { status: 'up' },
    });
  });

  it('signs a checkpoint when a proof asks for one', async () => {
    const { store, pool } = platform;
    for (let times = 0; times < 3; times += 1) {
      const streamId = `originator-${randomUUID()}`;
      await appendEvents(store, streamId, [
        { type: 'OriginatorCreated', at, data: originatorExample() },
      ]);
      const proven = await proveStream({ store, pool }, streamId, { timeoutMs, pollMs: 50 });
      expect(proven.events).toHaveLength(1);
    }
  });
});
