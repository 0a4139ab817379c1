/** Concurrent changes of one originator. Its account is the source of the money. */
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { bankAccount, type Gateway, startGateway } from './testing/gateway.js';

let gateway: Gateway;
afterEach(() => gateway?.close());

it('a request that restores the account replaced by a concurrent change restores it', async () => {
  const store = memoryEventStore();
  /** Appends between the load and the append of the next change. */
  let rival: (() => Promise<unknown>) | null = null;
  const contended: EventStore = {
    ...store,
    readStream: async (streamId, options) => {
      const events = await store.readStream(streamId, options);
      const now = streamId.startsWith('originator-') ? rival : null;
      if (now !== null) {
        rival = null;
        await now();
      }
      return events;
    },
  };
  gateway = await startGateway({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    store: contended,
    projects: false,
  });
  const tenant = await gateway.createTenant();
  const change = (achAccountNumber: string, email: string) =>
    gateway.call(`/v1/originators/${tenant.originatorId}`, {
      tenant,
      method: 'PATCH',
      body: { email, bankAccount: { ...bankAccount, achAccountNumber } },
    });
  await change('111122223333', 'first@example.com');

  rival = () => change('444455556666', 'rival@example.com');
  const reply = await change('111122223333', 'mine@example.com');
  expect(reply.body?.data).toMatchObject({
    email: 'mine@example.com',
    bankAccount: { achAccountNumber: '********3333' },
  });
});
