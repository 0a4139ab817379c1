import { payment } from '@pis/domain';
import { ids, paymentEvents, paymentExample } from '@pis/domain/testing';
import { type EventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { eventStoreDbEventStore } from '@pis/event-store/eventstoredb';
import {
  type EventStoreDbStandIn,
  MemorySealing,
  startEventStoreDbStandIn,
} from '@pis/event-store/testing';
import { portLog } from './log-source.js';
import { verifyLog } from './verify-log.js';

const { queued, processing, completed } = paymentEvents;

let server: EventStoreDbStandIn;
let raw: EventStore;
beforeAll(async () => {
  server = await startEventStoreDbStandIn();
  raw = eventStoreDbEventStore({ connectionString: server.url });
});
afterAll(async () => {
  await raw?.close();
  await server?.stop();
});

it('verifies a log in EventStoreDB, and finds what another system wrote into it', async () => {
  const payments = repository(sealedStore(raw, new MemorySealing()), payment);
  const first = { ...queued, data: paymentExample({ idempotencyKey: null }) };
  const by = systemContext('test');
  await payments.append(ids.payment, payments.fold([]), [first, processing, completed], by);
  const whole = await verifyLog({ source: portLog(raw) });
  expect(whole.findings).toEqual([]);
  expect(whole).toMatchObject({ ok: true, eventsRead: 3, streams: 1, treeSize: 3 });

  const id = '00000000-0000-4000-8000-000000000001';
  await server.write(`pis.payment-${ids.payment}`, { id, type: 'PaymentReturned', data: '{}' });
  const { findings } = await verifyLog({
    source: portLog(raw),
    kept: [{ ...whole, from: 'kept' }],
  });
  expect(findings.map(({ revision }) => revision)).toEqual([3, 3]);
  expect(findings.map(({ differs }) => differs)).toEqual([
    'previousHash is not the hash of revision 2: one of the two was altered',
    expect.stringMatching(/^schema version \d+ of PaymentReturned is unknown/),
  ]);
});
