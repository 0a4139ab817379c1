import type { JsonObject } from '@pis/event-store';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { createOrganization } from './provisioning.js';
import { ActionOutcomeNotRecorded, osUser, recordOperatorAction } from './operator-actions.js';

const operator = { actor: 'ada', reason: 'a receiver lost its orders' };
const replay = { name: 'dead-letters replay', subject: { group: 'webhook-dispatcher' } } as const;

async function recordedIn(store: EventStore): Promise<{ type: string; data: JsonObject }[]> {
  const { events } = await store.readLog({ after: '', streamPrefixes: ['operatorAction-'] });
  return events.map(({ type, data }) => ({ type, data }));
}

describe('an action of an operator', () => {
  it('is in the event store before it begins, with actor and reason', async () => {
    const store = memoryEventStore();
    const seen = await recordOperatorAction(store, operator, replay, () => recordedIn(store));
    expect(seen).toEqual([
      {
        type: 'OperatorActionStarted',
        data: expect.objectContaining({
          action: 'dead-letters replay',
          subject: { group: 'webhook-dispatcher' },
          ...operator,
          osUser: osUser(),
          host: expect.any(String) as unknown,
        }) as unknown,
      },
    ]);
  });

  it('ends with what came of it, and answers with its result', async () => {
    const store = memoryEventStore();
    const result = await recordOperatorAction(
      store,
      operator,
      { ...replay, outcome: ({ replayed }: { replayed: number }) => ({ replayed }) },
      () => Promise.resolve({ replayed: 3, secret: 'not recorded' }),
    );
    expect(result.replayed).toBe(3);
    expect((await recordedIn(store))[1]).toEqual({
      type: 'OperatorActionSucceeded',
      data: { outcome: { replayed: 3 } },
    });
  });

  it('ends with the error that stopped it, which the operator sees', async () => {
    const store = memoryEventStore();
    const failing = recordOperatorAction(store, operator, replay, () =>
      Promise.reject(new Error('no broker')),
    );
    await expect(failing).rejects.toThrow('no broker');
    expect((await recordedIn(store))[1]).toEqual({
      type: 'OperatorActionFailed',
      data: { error: 'no broker' },
    });
  });

  it('does not happen when it cannot be recorded', async () => {
    const store: EventStore = {
      ...memoryEventStore(),
      append: () => Promise.reject(new StoreUnavailable('away')),
    };
    let happened = false;
    const refused = recordOperatorAction(store, operator, replay, () => {
      happened = true;
      return Promise.resolve();
    });
    await expect(refused).rejects.toThrow('away');
    expect(happened).toBe(false);
  });

  it('says that it was done when only its outcome cannot be recorded', async () => {
    const store = memoryEventStore();
    let away = false;
    const append: EventStore['append'] = (...args) =>
      away ? Promise.reject(new StoreUnavailable('away')) : store.append(...args);
    const done = recordOperatorAction({ ...store, append }, operator, replay, () => {
      away = true;
      return Promise.resolve();
    });
    await expect(done).rejects.toThrow(ActionOutcomeNotRecorded);
  });

  it('is the cause of the events that it appends', async () => {
    const store = memoryEventStore();
    await recordOperatorAction(store, operator, replay, (by) =>
      createOrganization({ store, by }, { name: 'Acme' }),
    );
    const [started, created] = (await store.readLog({ after: '' })).events;
    expect(created?.metadata).toMatchObject({
      actor: 'user:cli:ada',
      causationId: started?.id,
      correlationId: started?.metadata.correlationId,
    });
  });
});
