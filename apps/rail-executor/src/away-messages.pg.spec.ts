/** A bank that is reached by messages: it knows nothing of a transfer before it was sent, so no inquiry shows that it is there. */
import { BankUnavailable } from '@pis/bank-rails';
import type { MessageTransport } from '@pis/bank-rails/connections';
import {
  BankCore,
  inProcessMessages,
  MessageDesk,
  sandboxConnections,
} from '@pis/bank-simulator/module';
import { bankOver } from './configured-banks.js';
import { keyring, openWorld, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

it('a payment waits in QUEUED for a bank that is known to be away, and is sent when it is back', async () => {
  const { pool, logger } = world;
  const desk = new MessageDesk(new BankCore(pool, { delayMs: 0 }));
  const line = inProcessMessages(desk);
  let isAway = true;
  const away = () => Promise.reject(new BankUnavailable('no answer'));
  const messages: MessageTransport = {
    ...line,
    send: (message) => (isAway ? away() : line.send(message)),
    inbox: (page) => (isAway ? away() : line.inbox(page)),
    ping: () => (isAway ? away() : line.ping()),
  };
  const resources = { environment: 'sandbox', pool, keyring, logger } as const;
  const { connection } = bankOver(sandboxConnections.messages, { messages }, resources);
  const executor = world.executor({ bank: connection });
  await expect(executor.feedRound()).rejects.toBeInstanceOf(BankUnavailable);

  const { paymentId, value, delivery } = await world.queue('4321', 'OUTBOUND', 'RTP');
  await executor.handle(value, delivery);
  expect(await world.history(paymentId)).toEqual(['Queued']);

  isAway = false;
  await world.timePasses(paymentId);
  await executor.sweepRound();
  expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
  await connection.close();
  desk.close();
});
