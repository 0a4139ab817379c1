import {
  createApiKey,
  createOrganization,
  digestOfApiKey,
  revokeApiKey,
  unrefused,
} from '@pis/commands';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { Authentication } from './authentication.js';
import { RateLimit } from './rate-limit.js';

const by = {
  actor: 'user:test',
  requestId: null,
  correlationId: 'test',
  causationId: null,
  traceparent: null,
};

async function setUp(expiresAt: string | null = null, failuresPerSecond = 0) {
  const store = memoryEventStore();
  let reads = 0;
  let away = false;
  let slownessMs = 0;
  let nowMs = Date.now();
  let elapsedMs = 0;
  const counting: EventStore = {
    ...store,
    readStream: async (...args) => {
      reads += 1;
      if (away) throw new StoreUnavailable('away');
      const read = await store.readStream(...args);
      nowMs += slownessMs;
      elapsedMs += slownessMs;
      return read;
    },
  };
  const context = { store, by };
  const { organizationId } = unrefused(await createOrganization(context, { name: 'Acme' }));
  const { apiKey } = unrefused(
    await createApiKey(context, {
      organizationId,
      type: 'full_access',
      environment: 'sandbox',
      expiresAt,
    }),
  );
  const failures = new RateLimit({ perSecond: failuresPerSecond, clock: () => elapsedMs });
  const authentication = new Authentication(counting, 'sandbox', failures, {
    now: () => nowMs,
    elapsed: () => elapsedMs,
  });
  return {
    context,
    organizationId,
    apiKey,
    enter: async (header: string | undefined = `Bearer ${apiKey}`, address = '203.0.113.1') =>
      authentication.authenticate(header, address),
    wait: (ms: number) => {
      nowMs += ms;
      elapsedMs += ms;
    },
    setClockBack: (ms: number) => {
      nowMs -= ms;
    },
    reads: () => reads,
    goAway: () => {
      away = true;
    },
    /** How old a read is when it arrives. */
    slowDown: (ms: number) => {
      slownessMs = ms;
    },
  };
}

/** A read of the memory store takes one turn of the event loop. */
async function backgroundReads(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

const unauthorized = expect.objectContaining({ code: 'UNAUTHORIZED' }) as Error;

describe('authentication', () => {
  it('finds a key by its digest, reads it once for many requests, and accepts any case of Bearer', async () => {
    const { enter, organizationId, reads, apiKey } = await setUp();
    const callers = await Promise.all([enter(), enter(), enter(`bearer  ${apiKey}`)]);
    expect(callers.map((caller) => caller.organizationId)).toEqual(Array(3).fill(organizationId));
    await enter();
    expect(reads()).toBe(1);
  });

  it.each([
    ['no header', undefined],
    ['an empty key', 'Bearer '],
    ['another scheme', 'Basic cGlzX3Rlc3RfMDEyMzQ1Njc4OWFiY2RlZg=='],
    ['an unknown key', 'Bearer pis_test_0123456789abcdef0123456789abcdef'],
    ['a key of the other environment', 'Bearer pis_live_0123456789abcdef0123456789abcdef'],
    ['an overlong key', `Bearer pis_test_${'x'.repeat(5_000)}`],
    ['a key with more behind it', 'Bearer pis_test_0123456789abcdef0123 456789abcdef'],
  ])('refuses %s', async (_what, header) => {
    const { enter } = await setUp();
    await expect(enter(header ?? '')).rejects.toThrow(unauthorized);
  });

  it('does not ask the store about a value that cannot be a key', async () => {
    const { enter, reads } = await setUp();
    await expect(enter('Bearer nonsense')).rejects.toThrow(unauthorized);
    await expect(enter('Bearer pis_live_0123456789abcdef')).rejects.toThrow(unauthorized);
    expect(reads()).toBe(0);
  });

  it('refuses a revoked key within five seconds', async () => {
    const { enter, wait, context, apiKey } = await setUp();
    await enter();
    unrefused(await revokeApiKey(context, { digest: digestOfApiKey(apiKey) }));
    wait(4_501);
    await expect(enter()).rejects.toThrow(unauthorized);
  });

  it('refuses a revoked key within five seconds, also when the clock is set back meanwhile', async () => {
    const { enter, wait, setClockBack, context, apiKey } = await setUp();
    await enter();
    unrefused(await revokeApiKey(context, { digest: digestOfApiKey(apiKey) }));
    setClockBack(3_600_000);
    wait(4_501);
    await expect(enter()).rejects.toThrow(unauthorized);
  });

  it('does not trust a read that took five seconds', async () => {
    const { enter, slowDown } = await setUp();
    slowDown(5_000);
    await expect(enter()).rejects.toThrow(StoreUnavailable);
    slowDown(0);
    await enter();
  });

  it('renews a known key in the background, so that requests do not wait', async () => {
    const { enter, wait, reads } = await setUp();
    await enter();
    for (const expected of [2, 3, 4]) {
      wait(2_500);
      await enter();
      expect(reads()).toBe(expected);
      await backgroundReads();
    }
  });

  it('refuses an address that fails too often, without a read, but not cached keys from it', async () => {
    const { enter, wait, reads, apiKey } = await setUp(null, 2);
    const unknown = (at: number) => `Bearer pis_test_${String(at).padStart(43, 'x')}`;
    await enter();
    for (let i = 0; i < 3; i += 1) await expect(enter(unknown(i))).rejects.toEqual(unauthorized);
    await expect(enter('nonsense')).rejects.toEqual(unauthorized);
    const before = reads();
    for (const header of [unknown(9), 'nonsense'])
      await expect(enter(header)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(reads()).toBe(before);
    await enter();
    await enter(`Bearer ${apiKey}`);
    await expect(enter(unknown(9), '203.0.113.2')).rejects.toEqual(unauthorized);
    wait(500);
    await expect(enter(unknown(9))).rejects.toEqual(unauthorized);
  });

  it('refuses an address that fails too often also when all its requests come at once', async () => {
    const { enter, reads } = await setUp(null, 2);
    const unknown = (at: number) => `Bearer pis_test_${String(at).padStart(43, 'x')}`;
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, at) => enter(unknown(at))),
    );
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : 'none',
    );
    expect(codes.filter((code) => code === 'UNAUTHORIZED')).toHaveLength(4);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(46);
    expect(reads()).toBe(4);
  });

  it('admits the first requests of a key, however many arrive at once', async () => {
    const { enter, reads, organizationId } = await setUp(null, 2);
    const callers = await Promise.all(Array.from({ length: 50 }, () => enter()));
    expect(new Set(callers.map((caller) => caller.organizationId))).toEqual(
      new Set([organizationId]),
    );
    expect(reads()).toBe(1);
  });

  it('does not count a valid key, or an unavailable store, as a failure of the address', async () => {
    const { enter, wait, goAway, context, organizationId } = await setUp(null, 2);
    const key = { organizationId, type: 'read_only', environment: 'sandbox' } as const;
    for (let keys = 0; keys < 20; keys += 1)
      await enter(`Bearer ${unrefused(await createApiKey(context, key)).apiKey}`);
    await enter();
    wait(5_000);
    goAway();
    for (let times = 0; times < 20; times += 1)
      await expect(enter()).rejects.toThrow(StoreUnavailable);
  });

  it('refuses a key from the moment it expires, cached or not', async () => {
    const { enter, wait } = await setUp(new Date(Date.now() + 60_000).toISOString());
    await enter();
    wait(59_000);
    await enter();
    wait(1_100);
    await expect(enter()).rejects.toThrow(unauthorized);
  });

  it('accepts a cached key for a moment while the store is unavailable, then answers that it is', async () => {
    const { enter, wait, goAway } = await setUp();
    await enter();
    goAway();
    wait(3_000);
    await enter();
    wait(2_000);
    await expect(enter()).rejects.toThrow(StoreUnavailable);
  });

  it('accepts a key that was created after a first try failed', async () => {
    const { enter, context, organizationId } = await setUp();
    const apiKey = 'pis_test_made-a-little-later';
    await expect(enter(`Bearer ${apiKey}`)).rejects.toThrow(unauthorized);
    const key = { organizationId, type: 'read_only', environment: 'sandbox', apiKey } as const;
    unrefused(await createApiKey(context, key));
    expect((await enter(`Bearer ${apiKey}`)).keyType).toBe('read_only');
  });
});
