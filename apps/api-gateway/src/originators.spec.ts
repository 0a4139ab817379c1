/** Two who change one originator at the same time: its account is where the money comes from. */
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { bankAccount, type Gateway, startGateway } from './testing/gateway.js';

let gateway: Gateway;
afterEach(() => gateway?.close());

it('who sets the account that was replaced a moment ago has it set, not another’s change kept', async () => {
  const store = memoryEventStore();
  /** Comes between the load of the next change and its append. */
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
