/** Conformance: appending to streams and reading them. */
import {
  EventTooLarge,
  type EventStore,
  type ExpectedRevision,
  StoreUnavailable,
  WrongExpectedRevision,
  appendSizeMaxBytes,
  eventSizeMaxBytes,
} from '../port.js';
import { type StoreUnderTest, eventToAppend, testTimeoutMs, unique } from './conformance-kit.js';

type Under = () => StoreUnderTest;

export function appendingConforms(under: Under): void {
  const store = () => under().store;

  it(
    'begins a stream at revision 0 and continues from there',
    async () => {
      const streamId = `payment-${unique()}`;
      const first = await store().append(streamId, 'noStream', [eventToAppend()]);
      const second = await store().append(streamId, 0, [eventToAppend(), eventToAppend()]);
      expect([first.revision, second.revision]).toEqual([0, 2]);
      expect(second.position > first.position).toBe(true);
      const events = await store().readStream(streamId);
      expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2]);
      expect(events[0]?.position).toBe(first.position);
      expect(events[2]?.position).toBe(second.position);
    },
    testTimeoutMs,
  );

  it(
    'returns data and metadata unchanged, whatever characters they hold',
    async () => {
      const streamId = `payment-${unique()}`;
      const event = eventToAppend(
        {
          text: 'é✓ 💶 "quoted" \\ \u0000 \u2028 \ud800 lone',
          'key \u0000 "\\': { nested: [1, 0.1, -5e-7, 1e21, true, null, [], {}] },
          empty: '',
          __proto__field: '{"a":1}',
        },
        'Näme \\ "quoted"',
      );
      const metadata = {
        ...event.metadata,
        requestId: 'req \u0000 \udfff "',
        causationId: event.id,
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        previousHash: 'ab'.repeat(32),
      };
      await store().append(streamId, 'noStream', [{ ...event, metadata }]);
      const [recorded] = await store().readStream(streamId);
      const { position, ...rest } = recorded ?? { position: '' };
      expect(rest).toEqual({ ...event, metadata, streamId, revision: 0 });
      expect(position).toMatch(/^\d+$/);
    },
    testTimeoutMs,
  );

  it(
    'refuses an append that expects another revision, and writes nothing of it',
    async () => {
      const streamId = `payment-${unique()}`;
      await expect(store().append(streamId, 4, [eventToAppend()])).rejects.toMatchObject({
        name: 'WrongExpectedRevision',
        streamId,
        expected: 4,
        actual: 'noStream',
      });
      await store().append(streamId, 'noStream', [eventToAppend(), eventToAppend()]);
      for (const expected of ['noStream', 0, 7] as const) {
        const two = [eventToAppend(), eventToAppend()];
        const refused = store().append(streamId, expected, two);
        await expect(refused).rejects.toMatchObject({ expected, actual: 1 });
        await expect(refused).rejects.toBeInstanceOf(WrongExpectedRevision);
      }
      expect(await store().readStream(streamId)).toHaveLength(2);
    },
    testTimeoutMs,
  );

  it(
    'lets exactly one of 100 concurrent writers win each revision',
    async () => {
      const streamId = `payment-${unique()}`;
      const writers = [store(), under().another(), under().another()];
      for (const expected of ['noStream', 0, 1, 2] as const) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 100 }, (_, index) =>
            writerOf(writers, index).append(streamId, expected, [eventToAppend({ index })]),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        for (const outcome of outcomes)
          if (outcome.status === 'rejected')
            expect(outcome.reason).toBeInstanceOf(WrongExpectedRevision);
      }
      const events = await store().readStream(streamId);
      expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3]);
    },
    testTimeoutMs,
  );

  it(
    'accepts all appends to different streams, in the order of each stream',
    async () => {
      const category = unique();
      const writers = [store(), under().another()];
      const appending = Array.from({ length: 30 }, async (_, stream) => {
        let expected: ExpectedRevision = 'noStream';
        for (let count = 0; count < 5; count++) {
          const events = [eventToAppend({ count }), eventToAppend({ count })];
          const streamId = `${category}-${stream}`;
          ({ revision: expected } = await writerOf(writers, stream).append(
            streamId,
            expected,
            events,
          ));
        }
      });
      await Promise.all(appending);
      const streams = await store().readStreams(
        appending.map((_, stream) => `${category}-${stream}`),
      );
      for (const events of streams)
        expect(events.map(({ data }) => data['count'])).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    },
    testTimeoutMs,
  );

  it(
    'recognizes a repeated append',
    async () => {
      const streamId = `payment-${unique()}`;
      const events = [eventToAppend(), eventToAppend()];
      const first = await store().append(streamId, 'noStream', events);
      await store().append(streamId, 1, [eventToAppend()]);
      expect(await store().append(streamId, 'noStream', events)).toEqual(first);
      const twice = [eventToAppend()];
      const both = await Promise.all([
        store().append(streamId, 2, twice),
        under().another().append(streamId, 2, twice),
      ]);
      expect(both[0]).toEqual(both[1]);
      expect(await store().readStream(streamId)).toHaveLength(4);
    },
    testTimeoutMs,
  );

  it(
    'does not mistake a different append for a repeated one',
    async () => {
      const streamId = `payment-${unique()}`;
      const known = eventToAppend();
      await store().append(streamId, 'noStream', [known, eventToAppend()]);
      const half = store().append(streamId, 'noStream', [known, eventToAppend()]);
      await expect(half).rejects.toBeInstanceOf(WrongExpectedRevision);
      const longer = store().append(streamId, 0, [known]);
      await expect(longer).rejects.toBeInstanceOf(WrongExpectedRevision);
      // In another stream it is another event.
      const elsewhere = `payment-${unique()}`;
      expect(await store().append(elsewhere, 'noStream', [known])).toMatchObject({ revision: 0 });
    },
    testTimeoutMs,
  );

  it(
    'settles each of several concurrent appends by itself',
    async () => {
      const category = unique();
      const known = [eventToAppend()];
      await store().append(`${category}-known`, 'noStream', known);
      const outcomes = await Promise.allSettled([
        store().append(`${category}-1`, 'noStream', [eventToAppend(), eventToAppend()]),
        store().append(`${category}-2`, 3, [eventToAppend()]),
        store().append(`${category}-known`, 'noStream', known),
        store().append(`${category}-known`, 'noStream', [eventToAppend()]),
        store().append(`${category}-known`, 0, [eventToAppend()]),
        store().append(`${category}-3`, 'noStream', [eventToAppend({ text: '\u0000\udc00\n' })]),
      ]);
      const settled = ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'];
      expect(outcomes.map(({ status }) => status)).toEqual(settled);
    },
    testTimeoutMs,
  );

  it(
    'accepts an event of the largest size and refuses one byte more, without effect on others',
    async () => {
      const streamId = `payment-${unique()}`;
      const empty = eventToAppend({ pad: '' });
      const overhead = JSON.stringify(empty.data).length + JSON.stringify(empty.metadata).length;
      const pad = 'x'.repeat(eventSizeMaxBytes - overhead);
      const tooLarge = store().append(`${streamId}-2`, 'noStream', [
        eventToAppend({ pad: `${pad}x` }),
      ]);
      const [largest, , neighbour] = await Promise.all([
        store().append(streamId, 'noStream', [eventToAppend({ pad })]),
        expect(tooLarge).rejects.toMatchObject({ name: 'EventTooLarge', sizeBytes: 1_000_001 }),
        store().append(`${streamId}-3`, 'noStream', [eventToAppend()]),
      ]);
      await expect(tooLarge).rejects.toBeInstanceOf(EventTooLarge);
      expect([largest.revision, neighbour.revision]).toEqual([0, 0]);
      const [large, none] = await store().readStreams([streamId, `${streamId}-2`]);
      expect(large?.[0]?.data['pad']).toBe(pad);
      expect(none).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'refuses an append that is too large as a whole, and writes nothing of it',
    async () => {
      const streamId = `payment-${unique()}`;
      const half = () => eventToAppend({ pad: 'x'.repeat(appendSizeMaxBytes / 2 - 1_000) });
      const whole = [half(), half(), eventToAppend({ pad: 'x'.repeat(2_000) })];
      const tooLarge = store().append(streamId, 'noStream', whole);
      await expect(tooLarge).rejects.toBeInstanceOf(EventTooLarge);
      expect((await store().append(`${streamId}-2`, 'noStream', [half(), half()])).revision).toBe(
        1,
      );
      expect((await store().append(streamId, 'noStream', [half()])).revision).toBe(0);
    },
    testTimeoutMs,
  );

  it(
    'shows what others wrote to every read that begins after a conflict',
    async () => {
      const writers = [store(), under().another(), under().another()];
      for (let count = 0; count < 10; count += 1) {
        const streamId = `payment-${unique()}`;
        const outcomes = writers.map(async (writer) => {
          try {
            await writer.append(streamId, 'noStream', [eventToAppend()]);
          } catch (error) {
            expect(error).toBeInstanceOf(WrongExpectedRevision);
          }
          return writer.readStream(streamId);
        });
        for (const events of await Promise.all(outcomes)) expect(events).toHaveLength(1);
      }
    },
    testTimeoutMs,
  );

  it(
    'refuses names and IDs that a store could not keep, without effect on others',
    async () => {
      const append = (streamId: string, changes: object) =>
        store().append(streamId, 'noStream', [{ ...eventToAppend(), ...changes }]);
      const good = append(`payment-${unique()}`, {});
      for (const streamId of ['', '$all', 'payment-\0', 'payment-\ud800', 'x'.repeat(600)]) {
        await expect(append(streamId, {})).rejects.toBeInstanceOf(TypeError);
        expect(await store().readStream(streamId)).toEqual([]);
      }
      await expect(append('payment-1', { type: 'a\0' })).rejects.toBeInstanceOf(TypeError);
      await expect(append('payment-1', { id: 'not a uuid' })).rejects.toBeInstanceOf(TypeError);
      await expect(store().append('payment-1', -1, [eventToAppend()])).rejects.toThrow(RangeError);
      await expect(store().append('payment-1', 0, [])).rejects.toThrow(RangeError);
      expect(await good).toMatchObject({ revision: 0 });
    },
    testTimeoutMs,
  );
}

export function readingConforms(under: Under): void {
  const store = () => under().store;

  it(
    'reads a stream forwards, backwards and from any revision',
    async () => {
      const streamId = `payment-${unique()}`;
      await store().append(
        streamId,
        'noStream',
        Array.from({ length: 6 }, () => eventToAppend()),
      );
      const revisions = async (options: Parameters<EventStore['readStream']>[1]) =>
        (await store().readStream(streamId, options)).map(({ revision }) => revision);
      expect(await revisions({})).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await revisions({ from: 4 })).toEqual([4, 5]);
      expect(await revisions({ from: 1, maxCount: 2 })).toEqual([1, 2]);
      expect(await revisions({ direction: 'backwards' })).toEqual([5, 4, 3, 2, 1, 0]);
      expect(await revisions({ direction: 'backwards', from: 2 })).toEqual([2, 1, 0]);
      expect(await revisions({ direction: 'backwards', maxCount: 1 })).toEqual([5]);
      expect(await revisions({ from: 6 })).toEqual([]);
      expect(await revisions({ maxCount: 0 })).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'reads nothing from a stream that does not exist',
    async () => {
      const streamId = `payment-${unique()}`;
      expect(await store().readStream(streamId)).toEqual([]);
      expect(await store().readStream(streamId, { direction: 'backwards' })).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'reads several streams in the order asked for, empty where there is none',
    async () => {
      const [a, b, none] = [`payment-${unique()}`, `contact-${unique()}`, `payment-${unique()}`];
      await store().append(a, 'noStream', [eventToAppend(), eventToAppend()]);
      await store().append(b, 'noStream', [eventToAppend()]);
      const streams = await store().readStreams([b, none, a, b]);
      expect(streams.map((events) => events.map((event) => event.streamId))).toEqual([
        [b],
        [],
        [a, a],
        [b],
      ]);
      expect(await store().readStreams([])).toEqual([]);
    },
    testTimeoutMs,
  );

  it(
    'shows an append to every read that begins after it was answered',
    async () => {
      const other = under().another();
      for (let count = 0; count < 20; count++) {
        const streamId = `payment-${unique()}`;
        // A read that is already in flight must not answer for a later one.
        const before = other.readStream(streamId);
        await store().append(streamId, 'noStream', [eventToAppend()]);
        expect(await other.readStream(streamId)).toHaveLength(1);
        await before;
      }
    },
    testTimeoutMs,
  );

  it(
    'answers a ping, and refuses everything once it is closed',
    async () => {
      const closed = under().another();
      await closed.ping();
      await closed.close();
      await expect(closed.ping()).rejects.toBeInstanceOf(StoreUnavailable);
      await expect(closed.readStream('payment-1')).rejects.toBeInstanceOf(StoreUnavailable);
      const append = closed.append(`payment-${unique()}`, 'noStream', [eventToAppend()]);
      await expect(append).rejects.toBeInstanceOf(StoreUnavailable);
    },
    testTimeoutMs,
  );
}

function writerOf(writers: readonly EventStore[], index: number): EventStore {
  const writer = writers[index % writers.length];
  if (writer === undefined) throw new RangeError('no writers');
  return writer;
}
