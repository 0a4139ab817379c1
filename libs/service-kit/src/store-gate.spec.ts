import { memoryEventStore, StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';
import { StoreGate } from './store-gate.js';

const metadata = {
  at: '2026-11-22T00:00:00.000Z',
  schemaVersion: 1,
  actor: 'system:test',
  requestId: null,
  correlationId: 'c',
  causationId: null,
  traceparent: null,
  previousHash: null,
};
const event = { id: '7d0f5a51-6a0f-4d39-8c0e-000000000001', type: 'Happened', data: {}, metadata };

const shortMs = 50;

describe('stores that were not checked yet', () => {
  it('refuse all calls as if they were unavailable, except health checks', async () => {
    const store = memoryEventStore();
    const guarded = new StoreGate(shortMs).guardStore(store);
    await Promise.all(
      [
        guarded.append('a-1', 'noStream', [event]),
        guarded.readStream('a-1'),
        guarded.readStreams(['a-1']),
        guarded.readLog({ after: '' }),
        guarded.lastPosition(),
      ].map((asked) => expect(asked).rejects.toThrow(StoreUnavailable)),
    );
    await guarded.ping();
    expect(await store.readStream('a-1')).toEqual([]);
  });

  it('answer waiting callers as soon as the gate opens', async () => {
    const gate = new StoreGate();
    const guarded = gate.guardStore(memoryEventStore());
    const appended = guarded.append('a-1', 'noStream', [event]);
    gate.open();
    expect(await appended).toMatchObject({ revision: 0 });
    expect(await guarded.readStream('a-1')).toHaveLength(1);
  });

  it('refuse waiting callers at once when the process ends', async () => {
    const gate = new StoreGate();
    const asked = gate.guardStore(memoryEventStore()).lastPosition();
    gate.end();
    await expect(asked).rejects.toThrow('this process ends');
  });

  it('let a subscription wait, and end it when its signal aborts', async () => {
    const gate = new StoreGate();
    const store = memoryEventStore();
    const guarded = gate.guardStore(store);
    const ending = new AbortController();
    const next = async (signal: AbortSignal) => {
      for await (const page of guarded.subscribe({ after: '', signal })) return page.events.length;
      return 'ended';
    };
    const ended = next(ending.signal);
    ending.abort();
    expect(await ended).toBe('ended');
    const first = next(new AbortController().signal);
    await store.append('a-1', 'noStream', [event]);
    gate.open();
    expect(await first).toBe(1);
  });

  it('lend no connection, and leave the pool unchanged afterwards', async () => {
    const gate = new StoreGate(shortMs);
    const client = { release: () => undefined };
    const connect = () => Promise.resolve(client);
    const pool = { connect } as unknown as pg.Pool;
    gate.guardPool(pool);
    await expect(pool.connect()).rejects.toThrow(StoreUnavailable);
    const outcome = new Promise((resolve) => pool.connect((error) => resolve(error)));
    expect(await outcome).toBeInstanceOf(StoreUnavailable);
    const given = pool.connect();
    gate.open();
    expect(await given).toBe(client);
    expect(await pool.connect()).toBe(client);
  });
});
