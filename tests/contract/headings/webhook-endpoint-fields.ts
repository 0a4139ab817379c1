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

  it('endpoint-field-6 has its secret in the answer that makes it and in no other', async () => {
    const secretForm = /^[0-9a-f]{64}$/;
    expect(created.secret).toMatch(secretForm);
    const others = [
      ['GET', `/v1/webhooks/${id}`, {}],
      ['GET', '/v1/webhooks', {}],
      ['PATCH', `/v1/webhooks/${id}`, { body: {} }],
      ['POST', `/v1/webhooks/${id}/test`, { body: {} }],
      ['GET', `/v1/webhooks/${id}/deliveries`, {}],
    ] as const;
    const shownNowhere = async (...secrets: string[]) => {
      for (const [method, path, options] of others) {
        const { status, text } = await call(method, path, options);
        expect([method, path, status]).toEqual([method, path, 200]);
        expect(text).not.toContain('secret"');
        for (const secret of secrets) expect(text).not.toContain(secret);
      }
    };
    await shownNowhere(created.secret);

    const rotation = await call('POST', `/v1/webhooks/${id}/rotate-secret`, { body: {} });
    const { secret } = rotation.body.data as { readonly secret: string };
    expect(secret).toMatch(secretForm);
    expect(secret).not.toBe(created.secret);
    expect(rotation.text).not.toContain(created.secret);
    await shownNowhere(created.secret, secret);
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
