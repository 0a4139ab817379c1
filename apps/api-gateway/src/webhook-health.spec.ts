import { randomUUID } from 'node:crypto';
import type { WebhookEndpoint } from '@pis/domain';
import { WebhookHealth } from './webhook-health.js';

const endpoint: WebhookEndpoint = {
  endpointId: randomUUID(),
  url: 'https://receiver.invalid/hook',
  subscribedEvents: ['payment.failed'],
  label: null,
  enabled: true,
  sealedSecret: '',
  secretSince: '2026-11-21T09:00:00.000Z',
  previousSecret: null,
  createdAt: '2026-11-21T09:00:00.000Z',
  updatedAt: '2026-11-21T09:00:00.000Z',
};
const unknown = { id: endpoint.endpointId, enabled: true, health: null, failingSince: null };

function healthOf(failing: () => Promise<never>) {
  const warnings: unknown[] = [];
  const logger = { warn: (...args: unknown[]) => void warnings.push(args) };
  return { warnings, health: new WebhookHealth({ failing }, logger, 1) };
}

describe('An endpoint whose health cannot be read', () => {
  it('is shown without it when the database does not answer in time', async () => {
    const { health } = healthOf(() => new Promise<never>(() => undefined));
    expect(await health.viewOf(randomUUID(), endpoint)).toMatchObject(unknown);
    expect(await health.viewsOf(randomUUID(), [endpoint])).toMatchObject([unknown]);
  });

  it('is shown without it when the database is unavailable, and this is logged', async () => {
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    const { health, warnings } = healthOf(() => Promise.reject(away));
    expect(await health.viewOf(randomUUID(), endpoint)).toMatchObject(unknown);
    expect(warnings).toHaveLength(1);
  });

  it('is not shown if the cause is a bug', async () => {
    const { health } = healthOf(() => Promise.reject(new TypeError('ours')));
    await expect(health.viewOf(randomUUID(), endpoint)).rejects.toThrow('ours');
  });
});
