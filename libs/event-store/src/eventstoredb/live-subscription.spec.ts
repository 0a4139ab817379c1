/** Subscriptions to EventStoreDB while connections break and the log loses events. */
import { until } from '@pis/local-servers/testing';
import { EventsLost, type Position, type RecordedEvent, StoreUnavailable } from '../port.js';
import { eventToAppend } from '../testing/conformance-kit.js';
import { type LogSink, liveSubscription } from './live-subscription.js';

const timeoutMs = 10_000;
const limits = {
  pageMax: 10,
  checkpointEvents: 32,
  retryInitialMs: 1,
  retryMaxMs: 1,
  subscribeTimeoutMs: timeoutMs,
};
const at = (place: number): Position => String(place).padStart(20, '0');
const event = (place: number): RecordedEvent => ({
  ...eventToAppend(),
  streamId: 'payment-1',
  revision: place,
  position: at(place),
});

describe('a subscription to EventStoreDB', () => {
  let log: RecordedEvent[];
  let opened: { readonly after: Position; readonly sink: LogSink; cancels: number }[];
  let seen: RecordedEvent[];
  let ending: AbortController;
  let isAway: boolean;
  beforeEach(() => {
    [log, opened, seen, ending, isAway] = [[], [], [], new AbortController(), false];
  });
  afterEach(() => ending.abort());

  /** Its end. */
  async function follow(from: { after: Position; afterEventId?: string }): Promise<void> {
    const pages = liveSubscription(
      async (after, _prefixes, sink) => {
        const open = { after, sink, cancels: 0 };
        opened.push(open);
        sink.confirmed();
        return { pause: () => {}, resume: () => {}, cancel: () => void (open.cancels += 1) };
      },
      async (position) => {
        if (isAway) throw new StoreUnavailable('away');
        return log.find((one) => one.position === position)?.id ?? null;
      },
      limits,
      { ...from, signal: ending.signal },
    );
    for await (const { events } of pages) seen.push(...events);
  }

  const connection = async (count: number): Promise<LogSink> => {
    await until(() => opened.length >= count, { timeoutMs });
    const [sink] = opened.slice(count - 1).map((one) => one.sink);
    if (sink === undefined) throw new Error('not opened');
    return sink;
  };
  const cut = new StoreUnavailable('cut');

  it('goes on behind its last event if the log still has it', async () => {
    const [first, second] = [event(1), event(2)];
    log = [first, second];
    const ended = follow({ after: '' });
    (await connection(1)).event(first);
    await until(() => seen.length === 1, { timeoutMs });
    isAway = true;
    (await connection(1)).ended(cut);
    await connection(3);
    isAway = false;
    await until(() => opened.at(-1)?.cancels === 0, { timeoutMs });
    opened.at(-1)?.sink.event(second);
    await until(() => seen.length === 2, { timeoutMs });
    expect(opened.map(({ after }) => after)).toEqual(['', ...opened.slice(1).map(() => at(1))]);
    ending.abort();
    await ended;
  });

  it.each([
    ['lacks its last event', []],
    ['has another event there', [event(2)]],
  ])('ends if the log %s, and shows nothing more', async (_, instead) => {
    const [first, second] = [event(1), event(2)];
    log = [first, second];
    const ended = follow({ after: at(1), afterEventId: first.id });
    (await connection(1)).event(second);
    await until(() => seen.length === 1, { timeoutMs });
    // A position behind it, of events that do not match.
    (await connection(1)).checkpoint(at(5));
    log = [first, ...instead];
    (await connection(1)).ended(cut);
    const lost = expect(ended).rejects.toThrow(EventsLost);
    (await connection(2)).event(event(6));
    await lost;
    expect(seen).toEqual([second]);
    expect(opened.map(({ cancels }) => cancels)).toEqual([1, 1]);
  });

  it('does not begin behind an event that the log lacks', async () => {
    log = [event(1)];
    await expect(follow({ after: at(1), afterEventId: event(1).id })).rejects.toThrow(EventsLost);
    expect(opened).toMatchObject([{ cancels: 1 }]);
  });
});
