import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { completePayment } from '@pis/read-models/testing';
import { paymentEnvelope, verify } from '@pis/webhooks';
import { type ReplayFixture, replayFixture } from './testing/replay-fixture.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;
/** Before the fixed times of the example events. */
const longAgo = new Date('2001-01-01T00:00:00Z');

let fixture: ReplayFixture;
beforeEach(async () => {
  fixture = await replayFixture();
});
afterEach(() => fixture.close());

const ids = (requests: ReplayFixture['receiver']['requests']) =>
  new Set(requests.map(({ body }) => (JSON.parse(body) as { id: string }).id));

describe('An endpoint with a requested replay', () => {
  it.each([
    ['that are still kept', []],
    ['whose days were dropped', ['webhook_finished_deliveries', 'webhook_fan_outs']],
  ])(
    'gets deliveries again %s, with the ids and the bytes they had, marked and signed',
    async (_, dropped) => {
      await completePayment(fixture.store, await fixture.queue(0));
      const dispatcher = fixture.started();
      for (const event of await fixture.published()) await dispatcher.handle(event);
      await fixture.untilAllDelivered(3);
      const first = [...fixture.receiver.requests];
      for (const table of dropped) await fixture.query(`TRUNCATE ${table}`);
      fixture.index.start();

      const replay = await fixture.requested({ fromAt: longAgo });
      await fixture.untilReceived(6);
      await fixture.untilEnded(replay, 'completed');
      const again = fixture.receiver.requests.slice(3);
      for (const sent of again) {
        const before = first.find(
          ({ headers }) => headers['x-webhook-delivery'] === sent.headers['x-webhook-delivery'],
        );
        expect(sent.body).toBe(before?.body);
        expect(before?.headers['x-webhook-replay']).toBeUndefined();
        expect(sent.headers['x-webhook-replay']).toBe('true');
        expect(verify(sent.body, sent.headers, fixture.endpoint.secret, new Date())).toBe(true);
      }
      expect(ids(again)).toEqual(ids(first));
      expect(await fixture.current(replay)).toMatchObject({
        eventsSent: 3,
        finishedAt: expect.any(Date),
      });
      await fixture.untilAllDelivered(3);
      const attempts = dropped.length === 0 ? 2 : 1;
      for (const record of await fixture.records())
        expect(record).toMatchObject({ attempts, is_replay: true });
    },
  );

  it('gets events that it was never sent, as they would have been sent', async () => {
    await completePayment(fixture.store, await fixture.queue(0));
    fixture.index.start();
    fixture.started();
    await fixture.untilEnded(await fixture.requested({ fromAt: longAgo }), 'completed');
    await fixture.untilAllDelivered(3);
    const wouldBe = (await fixture.published()).map((event) =>
      JSON.stringify(paymentEnvelope(event)),
    );
    const received = fixture.receiver.requests.map(({ body }) => body);
    expect(received.toSorted()).toEqual(wouldBe.toSorted());
  });

  it('gets the requested time and event types, both ends included', async () => {
    for (const second of [0, 1, 2, 3]) await fixture.queue(second);
    await completePayment(fixture.store, await fixture.queue(2));
    const events = await fixture.published();
    fixture.index.start();
    fixture.started();
    const replay = await fixture.requested({
      fromAt: new Date(fixture.at(1)),
      toAt: new Date(fixture.at(2)),
      eventTypes: ['payment.queued'],
    });
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilReceived(3);
    expect(fixture.receivedIds().toSorted()).toEqual(
      events
        .filter(({ eventType }) => eventType === 'payment.queued')
        .filter(({ occurredAt }) => occurredAt >= fixture.at(1) && occurredAt <= fixture.at(2))
        .map(({ eventId }) => eventId)
        .toSorted(),
    );
  });

  it('waits for the index of events, and then misses nothing', async () => {
    for (const second of [0, 1, 2]) await fixture.queue(second);
    fixture.started();
    const replay = await fixture.requested();
    await fixture.untilPutOff();
    expect(await fixture.current(replay)).toMatchObject({ state: 'running', eventsSent: 0 });
    fixture.index.start();
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilReceived(3);
  });

  it('gets it although the log ends with events that the index does not have', async () => {
    fixture.index.start();
    await fixture.queue(0);
    expect(await fixture.index.waitFor(await fixture.store.lastPosition(), timeoutMs)).toBe(true);
    // At once: the checkpoint of the index is saved again only with an event after this second.
    await fixture.enable(false);
    await fixture.enable(true);
    const replay = await fixture.requested();
    fixture.started();
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilAllDelivered(1);
  });

  it('gets a pending delivery at once, marked, instead of a second one', async () => {
    await fixture.queue(0);
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const dispatcher = fixture.started();
    for (const event of await fixture.published()) await dispatcher.handle(event);
    await until(async () => (await fixture.records())[0]?.attempts === 1, { timeoutMs });
    fixture.index.start();
    await fixture.untilEnded(await fixture.requested(), 'completed');
    await fixture.untilAllDelivered(1);
    const marks = fixture.receiver.requests.map(({ headers }) => headers['x-webhook-replay']);
    expect(marks).toEqual([undefined, 'true']);
  });

  it('keeps failing: each delivery is retried in its own window, from 30 seconds on', async () => {
    await fixture.queue(0);
    const dispatcher = fixture.started();
    for (const event of await fixture.published()) await dispatcher.handle(event);
    await fixture.untilAllDelivered(1);
    await dispatcher.stop();
    await fixture.query(`UPDATE webhook_finished_deliveries
      SET attempts = 9, created_at = created_at - interval '3 days'`);
    fixture.receiver.respondWith(() => ({ status: 503 }));
    fixture.index.start();
    fixture.started();
    await fixture.untilEnded(await fixture.requested(), 'completed');
    await until(async () => (await fixture.records())[0]?.attempts === 10, { timeoutMs });
    const [row] = await fixture.query<{ pause: number }>(`SELECT
      extract(epoch FROM next_attempt_at - (SELECT max(at) FROM webhook_attempts))::float8 AS pause
      FROM webhook_deliveries`);
    expect(row?.pause).toBeGreaterThanOrEqual(30);
    // The pause counts from the end of the attempt, the record from its beginning.
    expect(row?.pause).toBeLessThan(59);
  });

  it('gets new events in between, however much is replayed', async () => {
    const many = 400;
    for (let n = 0; n < many; n += 1) await fixture.queue(n / 1_000);
    fixture.receiver.respondWith(() => ({ delayMs: 10 }));
    fixture.index.start();
    const dispatcher = fixture.started();
    await fixture.requested();
    await fixture.untilReceived(80);
    await fixture.queue(100);
    const fresh = (await fixture.published()).at(-1);
    if (fresh === undefined) throw new Error('no event');
    const before = fixture.receiver.requests.length;
    await dispatcher.handle(fresh);
    await until(() => fixture.receivedIds().includes(fresh.eventId), { timeoutMs });
    const stoodBefore = fixture.receivedIds().indexOf(fresh.eventId) - before;
    // A page that was due already and the attempts in flight, but not the hundreds still to come.
    expect(stoodBefore).toBeLessThan(150);
    await fixture.untilReceived(many + 1);
  });

  it('is disabled and enabled: the replay waits and continues where it was', async () => {
    for (let n = 0; n < 20; n += 1) await fixture.queue(n);
    fixture.index.start();
    await fixture.enable(false);
    fixture.started({ limits: { replays: { dueMax: 4 } } });
    const replay = await fixture.requested();
    await fixture.untilPutOff();
    expect(await fixture.current(replay)).toMatchObject({ state: 'running', eventsSent: 0 });
    await fixture.enable(true);
    await fixture.untilReceived(4);
    await fixture.enable(false);
    await fixture.enable(true);
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilAllDelivered(20);
    expect(fixture.receiver.requests).toHaveLength(20);
  });

  it('always has one under way: those that ended long ago are deleted nevertheless', async () => {
    const old = await fixture.requested();
    await fixture.query(
      `UPDATE webhook_replays SET state = 'completed', finished_at = now() - interval '1 year'`,
    );
    await fixture.enable(false);
    await fixture.requested();
    fixture.started({ limits: { replays: { disabledRecheckMs: -1 } } });
    await until(async () => (await fixture.current(old)) === null, { timeoutMs });
  });

  it('is deleted during the replay: the replay and its due deliveries are canceled', async () => {
    for (let n = 0; n < 20; n += 1) await fixture.queue(n);
    fixture.index.start();
    // The receiver accepts none of them, so all due deliveries are still pending.
    fixture.receiver.respondWith(() => ({ status: 503 }));
    fixture.started({ limits: { replays: { dueMax: 4 } } });
    const replay = await fixture.requested();
    await fixture.untilReceived(4);
    await fixture.deleteEndpoint();
    await fixture.untilEnded(replay, 'canceled');
    // Those that were on their way have arrived.
    const leased = 'SELECT 1 FROM webhook_deliveries WHERE leased_until IS NOT NULL';
    await until(async () => (await fixture.query(leased)).length === 0, { timeoutMs });
    const received = fixture.receiver.requests.length;
    await fixture.query(
      'UPDATE webhook_deliveries SET next_attempt_at = now() - make_interval(secs => 1)',
    );
    await until(async () => (await fixture.records()).every(({ state }) => state === 'canceled'), {
      timeoutMs,
    });
    expect(fixture.receiver.requests).toHaveLength(received);
    const { eventsSent } = (await fixture.current(replay)) ?? {};
    expect(await fixture.records()).toHaveLength(eventsSent ?? 0);
    // A replay does not begin either if its request came before the deletion was visible.
    await fixture.untilEnded(await fixture.requested(), 'canceled');
    expect(await fixture.records()).toHaveLength(eventsSent ?? 0);
  });

  it('gets each event once, although three dispatchers share the work and are stopped in turn', async () => {
    const many = 120;
    for (let n = 0; n < many; n += 1) await fixture.queue(n / 100);
    fixture.index.start();
    // A stop waits for attempts in flight: nothing is cut, so nothing comes twice.
    const limits = { shutdownGraceMs: timeoutMs, replays: { dueMax: 8 } };
    const replay = await fixture.requested();
    for (let n = 0; (await fixture.current(replay))?.state === 'running'; n += 1) {
      const some = [
        fixture.started({ limits }),
        fixture.started({ limits }),
        fixture.started({ limits }),
      ];
      await fixture.untilReceived(Math.min(many, (n + 1) * 30));
      await Promise.all(some.map((dispatcher) => dispatcher.stop()));
    }
    fixture.started();
    await fixture.untilAllDelivered(many);
    expect((await fixture.current(replay))?.eventsSent).toBe(many);
    expect(new Set(fixture.receivedIds()).size).toBe(many);
    expect(fixture.receiver.requests).toHaveLength(many);
  });
});
