import { randomUUID } from 'node:crypto';
import { webhookEndpoints } from '@pis/domain';
import { memoryEventStore, repository, StreamStates, systemContext } from '@pis/event-store';
import { memoryDataKeyTable, testKeyring } from '@pis/keyring/testing';
import { WebhookEndpointDirectory } from './webhook-endpoint-directory.js';

const by = systemContext('test');
const organizationId = randomUUID();
const input = { url: 'https://8.8.8.8/hook', subscribedEvents: ['payment.*'] };

/** What the release before data_keys knew: secrets of version 1, with their keys inside. */
const earlier = {
  ...webhookEndpoints,
  schemaVersions: {
    WebhookEndpointCreated: 1,
    WebhookEndpointUpdated: 1,
    WebhookEndpointSecretRotated: 1,
    WebhookEndpointDeleted: 1,
  },
};

function setUp() {
  const store = memoryEventStore();
  const table = memoryDataKeyTable();
  /** Of the data keys that were made. */
  const owners: string[] = [];
  const noted: typeof table = {
    ...table,
    createMissing(keys) {
      owners.push(...keys.map(({ owner }) => owner));
      return table.createMissing(keys);
    },
  };
  const directory = new WebhookEndpointDirectory({
    store,
    keyring: testKeyring(7, noted),
    ownWrites: { note: () => undefined },
    states: new StreamStates(),
    urls: { allowedNetworks: [] },
  });
  const readEarlier = () => repository(store, earlier).load(organizationId);
  /** As the earlier release wrote it. */
  const createEarlier = async () => {
    const data = {
      organizationId,
      endpointId: randomUUID(),
      url: input.url,
      subscribedEvents: ['payment.*' as const],
      label: null,
      sealedSecret: 'v1.sealed',
    };
    const at = new Date().toISOString();
    const command = { type: 'CreateWebhookEndpoint', at, data } as const;
    await repository(store, earlier).execute(organizationId, command, by);
    return data;
  };
  return { directory, readEarlier, createEarlier, owners };
}

describe('webhook secrets in their present form', () => {
  it('are refused by the release before, which could not sign with them: its deliveries wait', async () => {
    const created = setUp();
    await created.directory.create(organizationId, input, by);
    await expect(created.readEarlier()).rejects.toThrow('schema version 2, this build knows 1');

    const rotated = setUp();
    const { endpointId } = await rotated.createEarlier();
    await rotated.readEarlier();
    await rotated.directory.rotateSecret(organizationId, endpointId, { overlapHours: 1 }, by);
    await expect(rotated.readEarlier()).rejects.toThrow('schema version 2, this build knows 1');
  });

  it('stand beside secrets that the release before wrote', async () => {
    const { directory, createEarlier } = setUp();
    const { endpointId, sealedSecret } = await createEarlier();
    expect(await directory.get(organizationId, endpointId)).toMatchObject({ sealedSecret });
    await directory.rotateSecret(organizationId, endpointId, { overlapHours: 1 }, by);
    expect(await directory.get(organizationId, endpointId)).toMatchObject({
      sealedSecret: expect.stringMatching(/^v2\./) as string,
      previousSecret: { sealedSecret },
    });
  });
});

it('a refused endpoint and a refused rotation leave no data key, which would be kept for good', async () => {
  const { directory, owners } = setUp();
  const create = () => directory.create(organizationId, input, by);
  for (let endpoint = 1; endpoint <= 5; endpoint += 1)
    expect(await create()).toMatchObject({ secret: expect.any(String) as string });
  expect(owners).toHaveLength(5);
  expect(await create()).toEqual({ refused: 'SUBSCRIPTION_LIMIT_EXCEEDED' });
  const rotated = directory.rotateSecret(organizationId, randomUUID(), { overlapHours: 1 }, by);
  expect(await rotated).toEqual({ refused: 'WEBHOOK_ENDPOINT_NOT_FOUND' });
  expect(owners).toHaveLength(5);
});
