import type { CreatedWebhookEndpoint, WebhookEndpoint } from '@pis/client';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { createEndpoint, deleteEndpoint, type Json } from '../support/things.js';

const url = 'https://receiver.invalid/hook';
const post = (body: unknown) => call('POST', '/v1/webhooks', { body });
const problemsWith = async (changes: Json) =>
  problemsOf(await post({ url, subscribedEvents: ['payment.failed'], ...changes }));

/** An endpoint for the time of a test. */
async function having<Result>(
  use: (endpoint: CreatedWebhookEndpoint) => Promise<Result>,
  changes: Json = {},
): Promise<Result> {
  const endpoint = await createEndpoint(changes);
  try {
    return await use(endpoint);
  } finally {
    await call('DELETE', `/v1/webhooks/${endpoint.id}`);
  }
}

const get = (id: string) => data<WebhookEndpoint>(200, 'GET', `/v1/webhooks/${id}`);
const patch = (id: string, body: unknown) => call('PATCH', `/v1/webhooks/${id}`, { body });

describe('Webhook endpoints', () => {
  it('webhook-1 takes a url that is HTTPS, short, public and without credentials', async () => {
    const issueOf = (wrong: unknown) => problemsWith({ url: wrong });
    expect(await issueOf(undefined)).toEqual(['url validation_required']);
    expect(await issueOf('http://receiver.invalid/')).toEqual(['url validation_url_https']);
    expect(await issueOf('receiver')).toEqual(['url validation_url']);
    expect(await issueOf(`${url}/${'x'.repeat(2_000)}`)).toEqual(['url validation_max_length']);
    expect(await issueOf('https://u:p@receiver.invalid/')).toEqual([
      'url validation_url_credentials',
    ]);
    const blocked = [
      '10.0.0.1',
      '192.168.1.1',
      '172.16.0.1',
      '169.254.169.254',
      '[fe80::1]',
      '[::1]',
    ];
    for (const host of [...blocked, '[fd00::1]', '0.0.0.0', '[::ffff:10.0.0.1]', '0x0a000001'])
      expect(await issueOf(`https://${host}/`)).toEqual(['url validation_url_private_address']);
  });

  it('webhook-2 takes event types and payment.* together, but no bare * and not none', async () => {
    const issuesOf = (subscribedEvents: unknown) => problemsWith({ subscribedEvents });
    expect(await issuesOf(undefined)).toEqual(['subscribedEvents validation_required']);
    expect(await issuesOf([])).toEqual(['subscribedEvents validation_min_length']);
    for (const wrong of ['*', 'TEST', 'payment.', 'statement.*', 'payment.done'])
      expect(await issuesOf([wrong])).toEqual(['subscribedEvents.0 validation_event_type']);
    const subscribedEvents = ['payment.*', 'payment.failed', 'statement.generated'];
    await having(async (endpoint) => expect(endpoint.subscribedEvents).toEqual(subscribedEvents), {
      subscribedEvents,
    });
  });

  it('webhook-3 takes a label of 1 to 255 characters, or none', async () => {
    await having(async ({ label }) => expect(label).toBeNull());
    await having(async ({ label }) => expect(label).toBe('ours'), { label: 'ours' });
    expect(await problemsWith({ label: '' })).toEqual(['label validation_min_length']);
    expect(await problemsWith({ label: 'l'.repeat(256) })).toEqual(['label validation_max_length']);
  });

  it('webhook-4 answers with the endpoint and its secret, this once', () =>
    having(async (created) => {
      const { secret, ...rest } = created;
      expect(secret).toMatch(/^[0-9a-f]{64}$/);
      expect(await get(created.id)).toMatchObject({ id: rest.id, url, enabled: true });
      expect(JSON.stringify(await get(created.id))).not.toContain(secret);
    }));

  it('webhook-5 answers 400 to a subscription beyond the limit of an event type', async () => {
    const ids: string[] = [];
    const create = () => post({ url, subscribedEvents: ['payment.blocked'] });
    try {
      let answer = await create();
      for (; answer.status === 201 && ids.length < 6; answer = await create())
        ids.push((answer.body.data as WebhookEndpoint).id);
      expect(problemsOf(answer)).toEqual(['subscribedEvents validation_subscription_limit']);
      expect(ids.length).toBeLessThanOrEqual(5);
    } finally {
      for (const id of ids) await deleteEndpoint(id);
    }
  });

  it('webhook-6 lists the endpoints without their secrets', () =>
    having(async ({ id, secret }) => {
      const answer = await call('GET', '/v1/webhooks');
      expect(answer.status).toBe(200);
      expect(answer.body.data).toEqual(
        expect.arrayContaining([expect.objectContaining({ id, url })]),
      );
      expect(answer.text).not.toContain(secret);
      expect(answer.text).not.toContain('"secret"');
    }));

  it('webhook-7 gets one endpoint without its secret', () =>
    having(async ({ id, secret, ...rest }) => {
      const answer = await call('GET', `/v1/webhooks/${id}`);
      expect(answer.body.data).toMatchObject({ id, url: rest.url });
      expect(answer.body.data).not.toHaveProperty('secret');
      expect(answer.text).not.toContain(secret);
    }));

  it('webhook-8 updates any of url, subscribedEvents, label and enabled', () =>
    having(async ({ id }) => {
      const changes = [
        { url: 'https://other.invalid/' },
        { subscribedEvents: ['payment.queued'] },
        { label: 'l' },
        { enabled: false },
      ];
      for (const change of changes)
        expect(await patch(id, change)).toMatchObject({ status: 200, body: { data: change } });
      const all = { url, subscribedEvents: ['payment.failed'], label: 'm', enabled: true };
      expect(await patch(id, all)).toMatchObject({ status: 200, body: { data: all } });
      expect(problemsOf(await patch(id, { url: 'http://x', enabled: 'yes' }))).toContain(
        'enabled validation_type',
      );
    }));

  it('webhook-9 changes nothing but what is supplied', () =>
    having(
      async ({ id }) => {
        const { updatedAt: _, ...before } = await get(id);
        expect((await patch(id, { label: 'new' })).body.data).toMatchObject({
          ...before,
          label: 'new',
        });
        const { updatedAt: __, ...after } = await get(id);
        expect(after).toEqual({ ...before, label: 'new' });
      },
      { label: 'old', subscribedEvents: ['payment.failed', 'payment.returned'] },
    ));

  it('webhook-10 replaces the whole subscription, and an empty one is none', () =>
    having(
      async ({ id }) => {
        await patch(id, { subscribedEvents: ['payment.returned'] });
        expect((await get(id)).subscribedEvents).toEqual(['payment.returned']);
        expect((await patch(id, { subscribedEvents: [] })).status).toBe(200);
        expect((await get(id)).subscribedEvents).toEqual([]);
      },
      { subscribedEvents: ['payment.failed', 'payment.queued'] },
    ));

  it('webhook-11 clears the label with null', () =>
    having(
      async ({ id }) => {
        expect((await patch(id, { label: null })).status).toBe(200);
        expect((await get(id)).label).toBeNull();
      },
      { label: 'ours' },
    ));

  it('webhook-12 answers a delete with 204 and no body, and then 404', async () => {
    const { id } = await createEndpoint();
    const answer = await call('DELETE', `/v1/webhooks/${id}`);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expectError(await call('DELETE', `/v1/webhooks/${id}`), 404, 'NOT_FOUND');
    expectError(await call('GET', `/v1/webhooks/${id}`), 404, 'NOT_FOUND');
  });
});

describe('Limits of webhook endpoints', () => {
  const longest = `${url}/`.padEnd(2_000, 'x');

  it('limit-4 takes a url of 2000 characters and none longer, in create and update', () =>
    having(
      async ({ id, url: taken }) => {
        expect(taken).toHaveLength(2_000);
        expect(await problemsWith({ url: `${longest}x` })).toEqual(['url validation_max_length']);
        expect(problemsOf(await patch(id, { url: `${longest}x` }))).toEqual([
          'url validation_max_length',
        ]);
        expect((await patch(id, { url: longest })).status).toBe(200);
      },
      { url: longest },
    ));

  it('limit-5 takes a label of 1 and of 255 characters, in create and update', () =>
    having(
      async ({ id }) => {
        for (const label of ['l', 'l'.repeat(255)])
          expect((await patch(id, { label })).status).toBe(200);
        expect(problemsOf(await patch(id, { label: '' }))).toEqual(['label validation_min_length']);
        const tooLong = { label: 'l'.repeat(256) };
        expect(problemsOf(await patch(id, tooLong))).toEqual(['label validation_max_length']);
        expect(await problemsWith(tooLong)).toEqual(['label validation_max_length']);
      },
      { label: 'l'.repeat(255) },
    ));

  it('limit-6 counts five endpoints per event type, disabled ones too; deleting frees one', async () => {
    const ids: string[] = [];
    const create = (name: string) => post({ url, subscribedEvents: [name] });
    try {
      // Whatever the organization had before leaves less room.
      for (;;) {
        const answer = await create('payment.canceled');
        if (answer.status !== 201) break;
        ids.push((answer.body.data as WebhookEndpoint).id);
      }
      expect(ids.length).toBeLessThanOrEqual(5);
      const [first = ''] = ids;
      expect((await patch(first, { enabled: false })).status).toBe(200);
      expectError(await create('payment.canceled'), 400, 'VALIDATION_ERROR');
      // Another event type has room of its own; an update into the full one has none.
      const other = await data<WebhookEndpoint>(201, 'POST', '/v1/webhooks', {
        body: { url, subscribedEvents: ['payment.blocked'] },
      });
      ids.push(other.id);
      expect(problemsOf(await patch(other.id, { subscribedEvents: ['payment.canceled'] }))).toEqual(
        ['subscribedEvents validation_subscription_limit'],
      );
      await deleteEndpoint(first);
      ids.splice(0, 1);
      const again = await create('payment.canceled');
      expect(again.status).toBe(201);
      ids.push((again.body.data as WebhookEndpoint).id);
    } finally {
      for (const id of ids) await deleteEndpoint(id);
    }
  });

  it('event-rule-8 counts payment.* toward the limit of every payment event type', async () => {
    const ids: string[] = [];
    const create = (name: string) => post({ url, subscribedEvents: [name] });
    try {
      for (;;) {
        const answer = await create('payment.*');
        if (answer.status !== 201) break;
        ids.push((answer.body.data as WebhookEndpoint).id);
      }
      for (const name of ['payment.queued', 'payment.returned', 'payment.awaiting_confirmation'])
        expect(problemsOf(await create(name))).toEqual([
          'subscribedEvents validation_subscription_limit',
        ]);
      const statements = await create('statement.generated');
      expect(statements.status).toBe(201);
      ids.push((statements.body.data as WebhookEndpoint).id);
    } finally {
      for (const id of ids) await deleteEndpoint(id);
    }
  });
});
