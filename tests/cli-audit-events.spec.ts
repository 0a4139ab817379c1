/** `pis audit events`: what one person did, and what happened to one record, whoever asks. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import { originator, userAction } from '@pis/domain';
import { paymentExample } from '@pis/domain/testing';
import { postgresEventStore, repository, sealedStore } from '@pis/event-store';
import { createKeyring, MasterKeys, pgDataKeyTable } from '@pis/keyring';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

const masterKey = Buffer.alloc(32, 7);
const userId = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1aaa';
const actionId = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1aab';
const by = {
  ...{ actor: `user:${userId}`, requestId: 'request-1', correlationId: 'request-1' },
  ...{ causationId: null, traceparent: null },
};
const account = {
  ...{ subType: 'SAVINGS', achRoutingNumber: '021000021', achAccountNumber: '998877665544' },
};

interface Shown {
  readonly type: string;
  readonly actor: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

let cli: CliOrganization;
let originatorId: string;

beforeAll(async () => {
  cli = await cliOrganization(masterKey);
  const file = path.join(cli.scratch, 'originator.json');
  const party = { entityType: 'BUSINESS', companyName: 'Acme', email: 'pay@acme.example' };
  writeFileSync(file, JSON.stringify({ ...party, bankAccount: account }));
  const create = ['originator', 'create', '--organization', cli.organizationId, '--file', file];
  ({ originatorId } = await pisJson<{ originatorId: string }>(create, cli.environment));
  const table = pgDataKeyTable(cli.pool);
  const keyring = createKeyring({ masterKeys: new MasterKeys([masterKey]), table });
  const store = sealedStore(postgresEventStore({ pool: cli.pool }), keyring);
  const originators = repository(store, originator);
  const { bankAccount } = paymentExample().originator;
  const data = { changes: { bankAccount } };
  const changed = { type: 'OriginatorUpdated', at: '2026-11-02T00:00:00.000Z', data } as const;
  await originators.append(originatorId, await originators.load(originatorId), [changed], by);
  const actions = repository(store, userAction);
  const started = {
    type: 'UserActionStarted',
    at: '2026-11-03T00:00:00.000Z',
    data: {
      ...{ actionId, organizationId: cli.organizationId, userId, action: 'createExport' as const },
      ...{ subject: { originatorId }, client: null },
    },
  } as const;
  await actions.append(actionId, await actions.load(actionId), [started], by);
  await store.close();
});
afterAll(() => cli?.end());

async function events(options: readonly string[], environment = cli.environment) {
  const { data } = await pisJson<{ data: readonly Shown[] }>(
    ['audit', 'events', ...options],
    environment,
  );
  return data;
}

it('lists everything that one user did, in order, whatever the record', async () => {
  const shown = await events(['--actor', by.actor]);
  expect(shown.map(({ type, at }) => [type, at])).toEqual([
    ['OriginatorUpdated', '2026-11-02T00:00:00.000Z'],
    ['UserActionStarted', '2026-11-03T00:00:00.000Z'],
  ]);
  expect(shown[1]).toMatchObject({ actor: by.actor, data: { action: 'createExport' } });
  const until = ['--to', '2026-11-02T12:00:00Z'];
  expect(await events(['--actor', by.actor, ...until])).toEqual(shown.slice(0, 1));
  expect(await events(['--actor', by.actor, '--from', '2026-11-02T12:00:00Z'])).toEqual(
    shown.slice(1),
  );
  expect(await events(['--actor', 'user:nobody'])).toEqual([]);
});

it('lists what happened to a record, and names the fields that a change had', async () => {
  const shown = await events(['--record', originatorId]);
  expect(shown.map(({ type }) => type)).toEqual([
    ...['OriginatorCreated', 'OriginatorUpdated', 'UserActionStarted'],
  ]);
  expect(shown[1]).toMatchObject({
    ...{ actor: by.actor, streamId: `originator-${originatorId}`, revision: 1 },
    data: { changes: { sealed: '(personal data: bankAccount)' } },
  });
  const changes = await events(['--type', 'OriginatorUpdated']);
  expect(changes).toEqual(shown.slice(1, 2));
});

it('needs no master key, and shows no personal data with or without one', async () => {
  const { PIS_MASTER_KEY: _key, ...without } = cli.environment;
  const found = await events(['--record', originatorId], {
    ...without,
    PIS_ENVIRONMENT: 'production',
  });
  expect(found[1]?.data).toEqual({ changes: { sealed: '(personal data)' } });
  const { stdout } = await pis(['audit', 'events', '--record', originatorId], cli.environment);
  for (const text of [stdout, JSON.stringify(found)])
    for (const personal of ['v3.', account.achAccountNumber, '021000021', 'Acme', 'acme.example'])
      expect(text).not.toContain(personal);
});

it('refuses to list the whole log, and an actor that can be nobody', async () => {
  expectRefusal(await pis(['audit', 'events'], cli.environment), /--actor, --record or --type/);
  expectRefusal(
    await pis(['audit', 'events', '--actor', 'ada@example.com'], cli.environment),
    /not of the form user:ID/,
  );
  expectRefusal(
    await pis(['audit', 'events', '--record', 'ada'], cli.environment),
    /--record is not a UUID/,
  );
});
