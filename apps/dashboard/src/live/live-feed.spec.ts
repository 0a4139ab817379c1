import { ids } from '@pis/domain/testing';
import { beginning, type EventStore, memoryEventStore } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { appendEvents, queuePayment } from '@pis/read-models/testing';
import type pg from 'pg';
import { LiveFeed } from './live-feed.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;

it('lists wait for the changed payment only, and not for events of other streams after it', async () => {
  const below = memoryEventStore();
  const { position } = await queuePayment(below, at);
  await appendEvents(below, 'webhookEndpoints-of-another', [{ type: 'Other', at, data: {} }]);
  // The reader begins before both, and gets them in one page.
  const store: EventStore = { ...below, lastPosition: () => Promise.resolve(beginning) };
  const seen: unknown[][] = [];
  const failures: unknown[] = [];
  const feed = new LiveFeed({
    store,
    pool: {} as pg.Pool,
    onSeen: (...one) => seen.push(one),
    onFailure: (error) => failures.push(error),
  });
  const end = feed.listen(ids.organization, {
    changed: () => undefined,
    approvalsChanged: () => undefined,
    refresh: () => undefined,
  });
  await until(() => seen.length > 0 || failures.length > 0, { timeoutMs });
  end();
  await feed.stop();
  await below.close();
  expect(failures).toEqual([]);
  expect(seen).toEqual([['payments', ids.organization, position]]);
});
