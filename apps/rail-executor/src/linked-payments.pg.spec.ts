/** Payments that waited for their counterparty go their whole way, and the bank moves what the payer was shown. */
import { bankBooks } from '@pis/bank-rails/sandbox';
import { paymentView } from '@pis/contracts';
import { openWorld, settle, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const life = ['AwaitingConfirmation', 'Queued', 'Processing', 'Completed'];
/** paymentAmount, discountFee + flatFee. */
const [amount, fee] = [12_345, 25];

it.each([
  ['INBOUND', amount + fee],
  ['OUTBOUND', amount],
] as const)('an %s payment moves %d and keeps its paymentAmount', async (direction, moved) => {
  const message = await world.queueByLink('4321', direction);
  const executor = world.executor();
  await executor.handle(message.value, message.delivery);
  await settle(executor);
  expect(await world.history(message.paymentId)).toEqual(life);
  expect(await bankBooks(world.pool)).toMatchObject([
    { direction, amount: moved, accountLastFour: '4321', state: 'executed' },
  ]);
  const payment = await world.payment(message.paymentId);
  expect(paymentView(payment)).toMatchObject({
    status: 'COMPLETED',
    paymentAmount: amount,
    contact: { firstName: 'Ada', bankAccount: { achAccountNumber: '*******4321' } },
  });
});

it('a payment of the API moves its amount alone, whatever the direction', async () => {
  for (const direction of ['INBOUND', 'OUTBOUND'] as const) {
    const message = await world.queue('4321', direction);
    const executor = world.executor();
    await executor.handle(message.value, message.delivery);
    await settle(executor);
  }
  expect((await bankBooks(world.pool)).map((row) => row.amount)).toEqual([amount, amount]);
});

it('a return of a transfer with a fee ends the payment, and is noted on nobody', async () => {
  const message = await world.queueByLink('0102', 'INBOUND');
  const executor = world.executor();
  await executor.handle(message.value, message.delivery);
  await settle(executor);
  expect(await world.history(message.paymentId)).toEqual([...life, 'Returned']);
  const { contact } = await world.payment(message.paymentId);
  expect(await world.store.readStream(`contact-${contact?.id}`)).toEqual([]);
});
