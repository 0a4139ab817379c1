import { jest } from '@jest/globals';
import { payment } from '@pis/domain';
import { type EventStore, memoryEventStore, repository, StoreUnavailable } from '@pis/event-store';
import { OwnWrites } from '@pis/http-api';
import { type ProjectionProgress } from '@pis/read-models';
import { by, contactBody, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf } from './testing/payments.js';
import { closeAfterEach } from '@pis/local-servers/testing';

const atEnd = closeAfterEach();

/** Projections that have read nothing. `waits` records the positions that lists wait for. */
function setUp() {
  const waits: string[] = [];
  const progress = (name: string) =>
    ({
      waitFor: (position: string, waitMaxMs: number) => {
        waits.push(`${name} ${position} ${waitMaxMs}`);
        return Promise.resolve(false);
      },
    }) as unknown as ProjectionProgress;
  const names = ['payments', 'directory', 'events'] as const;
  const [payments, directory, events] = names.map(progress);
  if (!payments || !directory || !events) throw new Error('a projection is missing');
  return { own: new OwnWrites({ payments, directory, events }), waits };
}

describe('a list', () => {
  it('waits at most a second for the last write of its organization in this process', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'mine', '05');
    own.note('payments', 'mine', '07');
    // The answer to an earlier append may arrive later.
    own.note('payments', 'mine', '06');
    await own.visible('payments', 'mine');
    expect(waits).toEqual(['payments 07 1000']);
  });

  it('does not wait for other organizations, other kinds of records, or nothing', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'theirs', '05');
    own.note('directory', 'mine', '06');
    own.note('payments', 'mine', null);
    await own.visible('payments', 'mine');
    expect(waits).toEqual([]);
    await own.visible('directory', 'mine');
    expect(waits).toEqual(['directory 06 1000']);
  });

  it('of events waits for payments', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'mine', '05');
    await own.visible('events', 'mine');
    expect(waits).toEqual(['events 05 1000']);
  });
});

/** A gateway with a store that loses the answers to appends of some streams, and the positions that lists wait for. */
async function withLostAnswers() {
  const memory = memoryEventStore();
  let lost: string | null = null;
  const store: EventStore = {
    ...memory,
    append: async (streamId, ...rest) => {
      const appended = await memory.append(streamId, ...rest);
      if (lost !== null && streamId.startsWith(lost)) throw new StoreUnavailable('no answer');
      return appended;
    },
  };
  const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
  const gateway = await startGateway({ databaseUrl, store, projects: false });
  const payer = await createPayer(gateway);
  const noted = jest.spyOn(gateway.app.get(OwnWrites), 'note');
  return {
    gateway,
    payer,
    /** The answers to a request and to its repetition after the first answer was lost. */
    twice: async (streamPrefix: string, send: typeof payer.pay) => {
      lost = streamPrefix;
      noted.mockClear();
      const first = codeOf(await send());
      expect(noted.mock.calls).toEqual([]);
      lost = null;
      return [first, codeOf(await send())];
    },
    noted,
    lastOf: async (streamPrefix: string) =>
      (await memory.readLog({ after: '', streamPrefixes: [streamPrefix] })).events.at(-1)?.position,
  };
}

it('the record of a request with a lost answer is in the lists once its repetition is answered', async () => {
  const { gateway, payer, twice, noted, lastOf } = await withLostAnswers();
  atEnd(() => gateway.close());
  const { tenant, contactId } = payer;
  const send = (method: 'POST' | 'PATCH', path: string, body: object) => () =>
    gateway.call(path, { tenant, method, body, headers: { 'idempotency-key': 'once' } });
  const requests = [
    ['payment-', '201', send('POST', '/v1/payments/', payer.body())],
    [
      'contact-',
      '409 CONFLICT',
      send('POST', '/v1/contacts/', contactBody(tenant, { firstName: 'Grace' })),
    ],
    [
      'contact-',
      '200',
      send('PATCH', `/v1/contacts/${contactId}`, { phoneNumber: '+12125550100' }),
    ],
    [
      'originator-',
      '200',
      send('PATCH', `/v1/originators/${tenant.originatorId}`, { phoneNumber: '+12125550100' }),
    ],
  ] as const;
  for (const [streams, answered, request] of requests) {
    expect(await twice(streams, request)).toEqual(['503 SERVICE_UNAVAILABLE', answered]);
    const projection = streams === 'payment-' ? 'payments' : 'directory';
    expect(noted).toHaveBeenCalledWith(projection, tenant.organizationId, await lastOf(streams));
  }
});

it('the state that a single read of a payment showed is in the next list', async () => {
  const { gateway, payer, noted, lastOf } = await withLostAnswers();
  atEnd(() => gateway.close());
  const paymentId = idOf(await payer.pay({ key: 'the key' }));
  // Another process appends, for example the rail executor.
  const processed = {
    type: 'ProcessPayment',
    at: new Date().toISOString(),
    data: { railReference: 'x' },
  } as const;
  await repository(gateway.store, payment).execute(paymentId, processed, by);
  for (const path of [`/v1/payments/${paymentId}`, '/v1/payments/?idempotencyKey=the+key']) {
    noted.mockClear();
    expect((await gateway.call(path, { tenant: payer.tenant })).status).toBe(200);
    const { organizationId } = payer.tenant;
    expect(noted.mock.calls).toEqual([['payments', organizationId, await lastOf('payment-')]]);
  }
});
