import type { WebhookEndpoint } from '@pis/client';
import { call, data } from '../support/http.js';
import { createEndpoint, deleteEndpoint, isoTime, uuid } from '../support/things.js';

describe('Webhook endpoint', () => {
  let id: string;
  let created: Awaited<ReturnType<typeof createEndpoint>>;
  const get = () => data<WebhookEndpoint>(200, 'GET', `/v1/webhooks/${id}`);
  const patch = (body: object) =>
    data<WebhookEndpoint>(200, 'PATCH', `/v1/webhooks/${id}`, { body });

  beforeAll(async () => {
    created = await createEndpoint();
    id = created.id;
  });
  afterAll(() => deleteEndpoint(id));

  it('endpoint-field-1 has an id', async () => {
    expect(created.id).toMatch(uuid);
    expect((await get()).id).toBe(id);
  });

  it('endpoint-field-2 has its HTTPS url', async () => {
    expect((await get()).url).toBe('https://receiver.invalid/hook');
  });

  it('endpoint-field-3 has its subscribedEvents', async () => {
    expect((await get()).subscribedEvents).toEqual(['payment.failed']);
    const wider = await patch({ subscribedEvents: ['payment.*', 'statement.generated'] });
    expect(wider.subscribedEvents).toEqual(['payment.*', 'statement.generated']);
  });

  it('endpoint-field-4 has a label or null', async () => {
    expect(created.label).toBeNull();
    expect((await patch({ label: 'l' })).label).toBe('l');
    expect((await patch({ label: 'l'.repeat(255) })).label).toHaveLength(255);
    expect((await patch({ label: null })).label).toBeNull();
  });

  it('endpoint-field-5 is enabled until it is disabled', async () => {
    expect(created.enabled).toBe(true);
    expect((await patch({ enabled: false })).enabled).toBe(false);
    expect((await patch({ enabled: true })).enabled).toBe(true);
  });

  it('endpoint-field-6 has its secret in the create response and nowhere else', async () => {
    expect(created.secret).toMatch(/^[0-9a-f]{64}$/);
    for (const [method, path, options] of [
      ['GET', `/v1/webhooks/${id}`, {}],
      ['GET', '/v1/webhooks', {}],
      ['PATCH', `/v1/webhooks/${id}`, { body: {} }],
    ] as const) {
      const { text } = await call(method, path, options);
      expect(text).not.toContain('secret');
      expect(text).not.toContain(created.secret);
    }
  });

  it('endpoint-field-7 has the time of its creation', async () => {
    expect(created.createdAt).toMatch(isoTime);
    expect((await get()).createdAt).toBe(created.createdAt);
  });

  it('endpoint-field-8 has the time of its last update in list, get and update', async () => {
    const updated = await patch({ label: 'later' });
    expect(updated.updatedAt).toMatch(isoTime);
    expect(Date.parse(updated.updatedAt)).toBeGreaterThan(Date.parse(created.createdAt));
    expect((await get()).updatedAt).toBe(updated.updatedAt);
    const list = await data<WebhookEndpoint[]>(200, 'GET', '/v1/webhooks');
    expect(list.find((endpoint) => endpoint.id === id)?.updatedAt).toBe(updated.updatedAt);
  });
});
