/** The head of the log while polls answer late. */
import { jest } from '@jest/globals';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { type LogPage, type Position, beginning } from '../port.js';
import { eventToAppend } from '../testing/conformance-kit.js';
import { LogHead } from './log-head.js';

const timeoutMs = 10_000;
const at = (place: number): Position => String(place).padStart(20, '0');

describe('the known head of the log', () => {
  const atEnd = closeAfterEach();

  let polls: PromiseWithResolvers<Position>[];
  let head: LogHead;

  beforeEach(() => {
    polls = [];
    head = new LogHead({
      own: { eventsMax: 3, bytesMax: 1_000_000 },
      readHead: () => {
        const poll = Promise.withResolvers<Position>();
        polls.push(poll);
        return poll.promise;
      },
      intervalMs: () => 1,
    });
    head.start();
  });
  afterEach(() => {
    head.stop();
    for (const poll of polls) poll.resolve(beginning);
  });

  /** Answers the poll that is under way, and resolves when the next one is. */
  async function answer(position: Position): Promise<void> {
    const count = polls.length;
    polls.at(-1)?.resolve(position);
    await until(() => polls.length > count, { timeoutMs });
  }

  beforeEach(() => until(() => polls.length === 1, { timeoutMs }));

  it('wakes nobody for a poll that began before an append and answers after it', async () => {
    head.reached(at(7));
    const { rung } = head.bell;
    await answer(at(6));
    head.reached(at(7));
    await answer(at(7));
    expect(head.bell.rung).toBe(rung);
  });

  it('wakes for what a late poll has found beyond an append', async () => {
    head.reached(at(7));
    const { rung } = head.bell;
    await answer(at(8));
    expect(head.bell.rung).toBe(rung + 1);
  });

  it('follows a log that was restored from an older backup, and wakes for its next event', async () => {
    head.reached(at(7));
    await answer(at(7));
    await answer(at(4));
    const { rung } = head.bell;
    head.reached(at(5));
    expect(head.bell.rung).toBe(rung + 1);
  });

  it('wakes for any event after its position was forgotten, also when an older poll answers', async () => {
    head.reached(at(7));
    await answer(at(7));
    head.forget();
    await answer(at(7));
    const { rung } = head.bell;
    await answer(at(5));
    head.reached(at(6));
    expect(head.bell.rung).toBe(rung + 2);
  });

  const event = (place: number) => ({
    ...eventToAppend(),
    streamId: 'payment-1',
    revision: place,
    position: at(place),
  });
  const before = event(6);
  const pageAfter = ({ position, id }: { position: Position; id?: string }) =>
    head.pageAfter({ after: position, afterEventId: id }, 10);

  it('has the events of this process, and says whether the log goes on', () => {
    const [first, second, third] = [event(7), event(8), event(9)];
    head.appended(before, [first, second, third]);
    head.reached(at(9));
    const rest = { position: at(9), eventId: third.id };
    expect(pageAfter(first)).toEqual({ events: [second, third], ...rest, isLast: true });
    expect(pageAfter(second)).toEqual({ events: [third], ...rest, isLast: true });
    expect(pageAfter(third)).toBeNull();
    head.reached(at(10));
    expect(pageAfter(first)).toMatchObject({ isLast: false });
    // Position 10 is of another process.
    head.appended(event(10), [event(11)]);
    expect(pageAfter(first)).toBeNull();
  });

  it('has nothing for a reader that has not read one of these events', () => {
    const [first, second] = [event(7), event(8)];
    head.appended(before, [first, second]);
    head.reached(at(8));
    expect(pageAfter(event(5))).toBeNull();
    expect(pageAfter({ position: at(7) })).toBeNull();
    // Read before a failover to a replica that lacked it.
    for (const lost of [event(6), event(7)]) expect(pageAfter(lost)).toBeNull();
    for (const kept of [before, first]) expect(pageAfter(kept)).not.toBeNull();
    // As is what was appended before such a failover.
    const next = event(9);
    head.appended({ position: at(8), id: event(8).id }, [next]);
    for (const one of [before, first, second]) expect(pageAfter(one)).toBeNull();
    head.appended({ position: at(9), id: null }, [event(10), event(11)]);
    expect(pageAfter(next)).toBeNull();
  });

  it('has no event of a log that was restored from an older backup', async () => {
    const [first, second] = [event(7), event(8)];
    head.appended(before, [first]);
    head.reached(at(7));
    await answer(at(7));
    head.appended(first, [second]);
    expect(pageAfter(first)).not.toBeNull();
    await answer(at(4));
    expect(pageAfter(first)).toBeNull();
  });

  it('has no event from before a new subscription', async () => {
    const [first, second, third] = [event(7), event(8), event(9)];
    head.appended(before, [first, second]);
    const nothing = (async function* (): AsyncGenerator<LogPage> {})();
    for await (const page of head.followed(nothing)) throw new Error(page.position);
    expect(pageAfter(first)).toBeNull();
    head.appended(first, [second, third]);
    expect(pageAfter(second)).not.toBeNull();
  });

  it('has no event once the store was unavailable', async () => {
    const poll = polls.at(-1);
    const [first, second] = [event(7), event(8)];
    head.appended(before, [first, second]);
    poll?.reject(new Error('unavailable'));
    await until(() => polls.length === 2, { timeoutMs });
    expect(pageAfter(first)).toBeNull();
  });

  it('counts the connections that were lost and are back', async () => {
    const { rung } = head.bell;
    polls.at(-1)?.reject(new Error('unavailable'));
    await until(() => polls.length === 2, { timeoutMs });
    expect([head.losses, head.bell.rung]).toEqual([0, rung]);
    await answer(beginning);
    expect([head.losses, head.bell.rung]).toEqual([1, rung + 1]);
    await answer(beginning);
    head.listens();
    expect(head.losses).toBe(1);
    head.listens();
    expect(head.losses).toBe(2);
  });

  it('has no event after an append with an unknown outcome', () => {
    const [first, second] = [event(7), event(8)];
    head.appended(before, [first, second]);
    head.forget();
    expect(pageAfter(first)).toBeNull();
  });

  it('polls at once when notifications may be missing, however long the interval is', async () => {
    let polled = 0;
    const seldom = new LogHead({
      own: { eventsMax: 3, bytesMax: 1_000_000 },
      readHead: () => Promise.resolve(at((polled += 1))),
      intervalMs: () => 3_600_000,
    });
    atEnd(() => seldom.stop());
    seldom.start();
    for (let count = 1; count <= 3; count += 1) {
      const { rung } = seldom.bell;
      seldom.pollNow();
      await until(() => seldom.bell.rung === rung + 1, { timeoutMs });
    }
    expect(polled).toBe(3);
  });

  it('wakes for a notification during an append that hangs', () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
    try {
      void head.whileAppending(() => Promise.withResolvers<void>().promise);
      const { rung } = head.bell;
      head.notified(at(7));
      jest.advanceTimersByTime(1_000);
      head.notified(at(8));
      expect(head.bell.rung).toBe(rung);
      jest.advanceTimersByTime(1_000);
      expect(head.bell.rung).toBe(rung + 1);
      head.reached(at(8));
      expect(head.bell.rung).toBe(rung + 1);
    } finally {
      jest.useRealTimers();
    }
  });

  it('wakes for a notification during an append when the append has ended', async () => {
    const append = Promise.withResolvers<void>();
    const { rung } = head.bell;
    const appending = head.whileAppending(() => append.promise);
    head.notified(at(7));
    head.notified(at(6));
    expect(head.bell.rung).toBe(rung);
    append.reject(new Error('refused'));
    await expect(appending).rejects.toThrow('refused');
    // The caller of the append goes first.
    expect(head.bell.rung).toBe(rung);
    await new Promise((resolve) => setImmediate(resolve));
    expect(head.bell.rung).toBe(rung + 1);
    head.reached(at(7));
    expect(head.bell.rung).toBe(rung + 1);
  });
});
