import { setImmediate as nextTurn } from 'node:timers/promises';
import { memoryEventStore } from '@pis/event-store';
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  until,
} from '@pis/local-servers/testing';
import type { MessagePage, MessageSource } from '@pis/messaging';
import { Registry } from 'prom-client';
import { loadConfig } from './config.js';
import { consumerStrategies } from './consumers.js';
import { brokerEnv } from './environment.js';
import { Health } from './health.js';
import { createLogger } from './logging.js';

const atEnd = closeAfterEach();

const timeoutMs = 20_000;
const messages = 20;

/** Messages of different keys, all at once. */
const source: MessageSource = {
  countAfter: () => Promise.resolve(0),
  async *subscribe({ signal }): AsyncGenerator<MessagePage> {
    yield {
      messages: Array.from({ length: messages }, (_, n) => ({
        ...{ topic: 't', key: `k${n}`, value: '1', headers: {} },
        offset: String(n).padStart(3, '0'),
      })),
      position: '999',
    };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
};

it('a consumer handles as many messages at a time as PIS_CONSUMER_CONCURRENCY says', async () => {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const pool = openTestPool(database.url, 4);
  atEnd(() => pool.end());
  const logger = createLogger('test', 'silent');
  const [strategy] = consumerStrategies(['webhook-dispatcher'], {
    config: loadConfig(brokerEnv, { PIS_CONSUMER_CONCURRENCY: '3' }),
    store: memoryEventStore(),
    pool,
    feedOf: () => source,
    logger,
    metrics: new Registry(),
    health: new Health({ logger }),
  });
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const handle = async () => {
    begun += 1;
    await opened;
  };
  strategy?.addHandler('t', handle as never, true);
  strategy?.listen(() => undefined);
  await until(() => begun === 3, { timeoutMs });
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  expect(begun).toBe(3);
  open();
  await until(() => begun === messages, { timeoutMs });
  await strategy?.close();
});
