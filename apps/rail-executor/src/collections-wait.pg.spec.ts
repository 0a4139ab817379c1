/** A collection stays QUEUED while the banks file cannot take it, and one that a bank has executed is not sent twice. */
import { settlementPartyId } from '@pis/domain';
import { memoryEventStore } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { unclearMax } from './payment-execution.js';
import { openFormats } from './testing/formats.js';
import { openWorld, settle, type World } from './testing/world.js';

const completed = ['Queued', 'Processing', 'Completed'];

let world: World;
beforeEach(async () => {
  world = await openWorld({ owner: 'collection' });
});
afterEach(() => world.close());

const bankTaking = (companies: readonly string[]) => [
  {
    ...{ name: 'bank', rails: ['ACH'] as const, connection: world.bank },
    lacksFor: (id: string) => (companies.includes(id) ? null : `no company for ${id}`),
  },
];

it.each([
  [
    'lacks the company of the operator',
    () => bankTaking([]),
    `no company for ${settlementPartyId}`,
  ],
  ['takes no ACH', () => [], 'no connection to a bank takes ACH'],
] as const)(
  'a collection stays queued while the banks file %s, and goes on once it has the entry',
  async (_what, banksOf, missing) => {
    const { paymentId, value, delivery } = await world.queue('4321');
    const waiting = world.executor({ banks: banksOf() });
    // More often than a payment is tried.
    for (let tries = 0; tries < unclearMax + 2; tries += 1) await waiting.handle(value, delivery);
    expect(await world.history(paymentId)).toEqual(['Queued']);
    expect(await world.pending(paymentId)).toMatchObject({ stage: 'queued' });
    expect(world.logger.lines.join()).toContain(
      JSON.stringify([
        { paymentId, missing },
        'a collection waits for an entry of the banks file',
      ]).slice(1, -1),
    );
    const executor = world.executor({ banks: bankTaking([settlementPartyId]) });
    await executor.handle(value, delivery);
    await settle(executor);
    expect(await world.history(paymentId)).toEqual(completed);
    expect(await world.executions()).toBe(1);
  },
);

it('a collection that is created anew on a restored log is not sent over another connection', async () => {
  const formats = await openFormats(world);
  try {
    const { paymentId, value, delivery } = await world.queue('4321');
    const [files] = formats.banks;
    if (files === undefined) throw new Error('a bank is needed');
    const before = world.executor({ banks: formats.banks });
    await before.handle(value, delivery);
    await formats.exchangeFiles();
    await settle(before);
    expect(await world.history(paymentId)).toEqual(completed);
    await until(async () => (await world.pending(paymentId)) === null, { timeoutMs: 60_000 });
    const store = memoryEventStore();
    const streamId = `collection-${paymentId}`;
    const stream = await world.store.readStream(streamId);
    await store.append(streamId, 'noStream', stream.slice(0, 1));
    const other = { name: 'another', rails: ['ACH'], connection: world.bank } as const;
    const executor = world.executor({ banks: [{ ...files, rails: [] }, other], store });
    await executor.handle(value, delivery);
    await formats.exchangeFiles();
    await settle(executor);
    const events = await store.readStream(streamId);
    expect(events.map(({ type }) => type.replace(/^Payment/, ''))).toEqual(completed);
    expect(await formats.executions()).toBe(1);
    expect(await world.executions()).toBe(0);
  } finally {
    await formats.close();
  }
});
