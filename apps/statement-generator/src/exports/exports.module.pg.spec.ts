import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { exportRequests } from '@pis/exports';
import { until } from '@pis/local-servers/testing';
import { startOnTestPlatform } from '@pis/service-kit/testing';
import { StatementGeneratorModule } from '../statement-generator.module.js';

const timeoutMs = 30_000;

it('a request of an export wakes the process that writes it', async () => {
  const platform = await startOnTestPlatform(
    StatementGeneratorModule.register({ PIS_DOCUMENT_STORE: 'postgres' }),
  );
  const exports = exportRequests(platform.pool);
  for (let times = 0; times < 3; times += 1) {
    const id = randomUUID();
    await exports.create({
      ...{ id, organizationId: randomUUID(), fileId: randomUUID(), originatorId: null },
      ...{ kind: 'deliveries', format: 'jsonl', from: null, to: null, throughPosition: '' },
      ...{ requestedBy: 'apiKey:1', requestedAt: new Date() },
    });
    await until(async () => (await exports.find(id))?.status === 'completed', { timeoutMs });
  }
  await platform.close();
});
