import { randomUUID } from 'node:crypto';
import {
  memoryEventStore,
  systemContext,
  TimeLimit,
  timeLimited,
  withTimeLimit,
} from '@pis/event-store';
import { recordUserAction } from './user-actions.js';

const user = { userId: randomUUID(), organizationId: randomUUID() };
const action = { name: 'createExport', user } as const;
const by = systemContext('test');

it('the outcome of an action is recorded after the time of its request is over', async () => {
  const store = memoryEventStore();
  const after = await store.lastPosition();
  const limit = new TimeLimit();
  await withTimeLimit(limit, () =>
    recordUserAction(timeLimited(store), action, by, async () => limit.end()),
  );
  const { events } = await store.readLog({ after });
  expect(events.map(({ type }) => type)).toEqual(['UserActionStarted', 'UserActionSucceeded']);
});

it('calls that do one action together leave one record, with the outcome of the one that succeeds', async () => {
  const store = memoryEventStore();
  const after = await store.lastPosition();
  const shared = { name: 'signOut', user, actionId: randomUUID() } as const;
  const call = (work: () => Promise<void>) => recordUserAction(store, shared, by, work);
  const failed = call(() => Promise.reject(new Error('away')));
  await expect(failed).rejects.toThrow('away');
  let works = 0;
  const work = async () => void (works += 1);
  await Promise.all([call(work), call(work), call(work)]);
  const { events } = await store.readLog({ after });
  expect(events.map(({ type }) => type)).toEqual(['UserActionStarted', 'UserActionSucceeded']);
  expect(events[1]?.metadata.causationId).toBe(events[0]?.id);
  expect(works).toBe(3);
});

it('an action does not begin after the time of its request is over', async () => {
  const store = memoryEventStore();
  const after = await store.lastPosition();
  const limit = new TimeLimit();
  limit.end();
  let isBegun = false;
  const acted = withTimeLimit(limit, () =>
    recordUserAction(timeLimited(store), action, by, async () => void (isBegun = true)),
  );
  await expect(acted).rejects.toMatchObject({ name: 'StoreUnavailable' });
  expect([isBegun, (await store.readLog({ after })).events]).toEqual([false, []]);
});
