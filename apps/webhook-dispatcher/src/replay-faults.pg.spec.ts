import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { poolAround } from '@pis/webhook-deliveries/testing';
import { type ReplayFixture, replayFixture } from './testing/replay-fixture.js';
import { testConfig } from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
const hourMs = 3_600_000;

let fixture: ReplayFixture;
beforeEach(async () => {
  fixture = await replayFixture();
});
afterEach(() => fixture.close());

const queueMany = async (count: number, second: (n: number) => number = (n) => n) => {
  for (let n = 0; n < count; n += 1) await fixture.queue(second(n));
};
const expectEachOnce = async (count: number) => {
  await fixture.untilAllDelivered(count);
  expect(new Set(fixture.receivedIds()).size).toBe(count);
  expect(fixture.receiver.requests).toHaveLength(count);
};

describe('A replay misses nothing and sends nothing twice', () => {
  it.each([
    ['of a page each', { dueMax: 3 }],
    ['of several looks at the index for a page', { scanMax: 3 }],
  ])('when many events have the same time, beyond the limit %s', async (_, replays) => {
    await queueMany(20, () => 7);
    fixture.index.start();
    fixture.started({ limits: { replays } });
    const replay = await fixture.requested();
    await fixture.untilEnded(replay, 'completed');
    await expectEachOnce(20);
    expect((await fixture.current(replay))?.eventsSent).toBe(20);
  });

  it('when only the last of many events is of a wanted type', async () => {
    await queueMany(20);
    fixture.index.start();
    fixture.started({ limits: { replays: { scanMax: 4 } } });
    const replay = await fixture.requested({ eventTypes: ['payment.failed'] });
    await fixture.untilEnded(replay, 'completed');
    expect(await fixture.current(replay)).toMatchObject({ eventsSent: 0 });
    expect(await fixture.records()).toEqual([]);
  });

  it('when its worker is delayed during a page until another one has its lease', async () => {
    await queueMany(20);
    fixture.index.start();
    let goOn: () => void = () => undefined;
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    const [late, other] = [randomUUID(), randomUUID()];
    let isHeld = false;
    let wasLost = false;
    const pool = poolAround(fixture.pool, async (statement, send) => {
      const result = await send();
      if (statement === 'webhook_deliveries.revive' && !isHeld) {
        isHeld = true;
        await mayGoOn;
      }
      if (statement === 'webhook_replays.advance')
        wasLost ||= (result as { rowCount: number }).rowCount === 0;
      return result;
    });
    const limits = { replays: { dueMax: 8 } };
    const held = fixture.started({ pool, owner: late, limits });
    const replay = await fixture.requested();
    await until(() => isHeld, { timeoutMs });
    fixture.started({ owner: other, limits });
    await fixture.query(
      'UPDATE webhook_replays SET leased_until = now() - make_interval(secs => 1)',
    );
    await until(
      async () =>
        (await fixture.query('SELECT 1 FROM webhook_replays WHERE lease_owner = $1', [other]))
          .length > 0,
      { timeoutMs },
    );
    goOn();
    await fixture.untilEnded(replay, 'completed');
    await expectEachOnce(20);
    expect((await fixture.current(replay))?.eventsSent).toBe(20);
    expect(wasLost).toBe(true);
    await held.stop();
  });

  it.each(['webhook_deliveries.revive', 'webhook_replays.advance', 'COMMIT'])(
    'when the database goes at its %s',
    async (lost) => {
      await queueMany(20);
      fixture.index.start();
      let isLost = false;
      const pool = poolAround(fixture.pool, async (statement, send, previous) => {
        const result = await send();
        const isOfPage = statement !== 'COMMIT' || previous === 'webhook_replays.advance';
        if (isLost || statement !== lost || !isOfPage) return result;
        isLost = true;
        throw new Error('the connection is gone');
      });
      fixture.started({ pool, limits: { replays: { dueMax: 8 } } });
      const replay = await fixture.requested();
      await fixture.untilEnded(replay, 'completed');
      await expectEachOnce(20);
      expect(isLost).toBe(true);
      expect((await fixture.current(replay))?.eventsSent).toBe(20);
    },
  );

  it('when two replays of one endpoint overlap: each event is sent at least once, and both end', async () => {
    await queueMany(20);
    fixture.index.start();
    fixture.receiver.respondWith(() => ({ delayMs: 5 }));
    const limits = { replays: { dueMax: 8 } };
    fixture.started({ limits });
    fixture.started({ limits });
    const both = [await fixture.requested(), await fixture.requested()];
    for (const replay of both) {
      await fixture.untilEnded(replay, 'completed');
      expect((await fixture.current(replay))?.eventsSent).toBe(20);
    }
    await fixture.untilAllDelivered(20);
    expect(new Set(fixture.receivedIds()).size).toBe(20);
    // A delivery that is pending for one replay is not made twice for the other.
    expect(fixture.receiver.requests.length).toBeLessThanOrEqual(40);
  });

  it.each([
    ['back', -hourMs],
    ['on', hourMs],
  ])('when the clock is set %s by an hour during the replay', async (_, ms) => {
    await queueMany(20);
    fixture.index.start();
    let offsetMs = 0;
    const now = () => new Date(Date.now() + offsetMs);
    fixture.started({ now, limits: { replays: { dueMax: 4 } } });
    fixture.receiver.respondWith((_, index) => {
      if (index === 3) offsetMs = ms;
      return {};
    });
    const replay = await fixture.requested();
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilAllDelivered(20);
    expect(new Set(fixture.receivedIds()).size).toBe(20);
  });

  it('when the clock was set back by an hour after a dispatcher that died had leased it', async () => {
    await queueMany(3);
    fixture.index.start();
    const replay = await fixture.requested();
    await fixture.query(
      `UPDATE webhook_replays SET lease_owner = $1, leased_until = now() + interval '1 hour'`,
      [randomUUID()],
    );
    fixture.started();
    await fixture.untilEnded(replay, 'completed');
    await expectEachOnce(3);
  });
});

describe('A replay to an endpoint that', () => {
  it('has many deliveries waiting for a retry makes no more than a page of them due at a time', async () => {
    const waiting = 100;
    await queueMany(waiting, (n) => n / 1_000);
    fixture.receiver.respondWith(() => ({ status: 503 }));
    const events = await fixture.published();
    const limits = { unhealthyAfterFailures: Infinity };
    // No retry is due by itself, however long the test takes.
    const config = { ...testConfig, PIS_WEBHOOK_RETRY_INITIAL_MS: 3_600_000 };
    const dispatcher = fixture.started({ limits, config });
    await Promise.all(events.map((event) => dispatcher.handle(event)));
    await until(async () => (await fixture.records()).every(({ attempts }) => attempts === 1), {
      timeoutMs,
    });
    await dispatcher.stop();

    fixture.receiver.respondWith(() => ({ hang: true }));
    fixture.index.start();
    fixture.started({
      limits: { ...limits, shutdownGraceMs: 50, replays: { dueMax: 8 } },
      config,
    });
    const replay = await fixture.requested();
    await until(async () => ((await fixture.current(replay))?.eventsSent ?? 0) > 0, { timeoutMs });
    await fixture.untilReceived(waiting + 1);
    await fixture.untilPutOff();
    expect((await fixture.current(replay))?.eventsSent).toBe(8);
    const [row] = await fixture.query<{ due: number }>(
      'SELECT count(*)::int AS due FROM webhook_deliveries WHERE next_attempt_at <= now()',
    );
    expect(row?.due).toBe(8);
  });

  it('accepts none of them adds no more when enough wait for a retry, and continues when it recovers', async () => {
    const many = 60;
    await queueMany(many, (n) => n / 1_000);
    fixture.index.start();
    fixture.receiver.respondWith(() => ({ status: 503 }));
    let offsetMs = 0;
    const now = () => new Date(Date.now() + offsetMs);
    const replays = { dueMax: 8, waitingMax: 16 };
    fixture.started({ now, limits: { unhealthyAfterFailures: Infinity, replays } });
    const replay = await fixture.requested();
    await fixture.untilReceived(16);
    await fixture.untilPutOff();
    const sent = (await fixture.current(replay))?.eventsSent;
    expect(sent).toBeLessThanOrEqual(16 + 8);
    expect(await fixture.records()).toHaveLength(sent ?? 0);
    fixture.receiver.respondWith(() => ({}));
    offsetMs = testConfig.PIS_WEBHOOK_RETRY_INITIAL_MS * 2;
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilAllDelivered(many);
    expect(new Set(fixture.receivedIds()).size).toBe(many);
  });
});
