/**
 * The contract of the event store port. Every adapter passes this suite, so that an app does not need to
 * know which one it uses. Call it at the top level of a spec.
 */
import { beginning } from '../port.js';
import { type StoreUnderTest, testTimeoutMs } from './conformance-kit.js';
import {
  lastEventConforms,
  logConforms,
  recoveryConforms,
  subscribingConforms,
} from './conformance-log.js';
import { appendingConforms, readingConforms } from './conformance-streams.js';

export type { StoreUnderTest } from './conformance-kit.js';

export function eventStoreConformance(
  name: string,
  makeStore: () => Promise<StoreUnderTest>,
): void {
  describe(`event store on ${name}`, () => {
    let made: StoreUnderTest | undefined;
    const under = () => {
      if (made === undefined) throw new Error('the store was not made');
      return made;
    };
    beforeAll(async () => {
      made = await makeStore();
    }, testTimeoutMs);
    afterAll(async () => {
      await made?.end();
    }, testTimeoutMs);

    it('has no last position while it is empty', async () => {
      const { store, fresh } = under();
      const position = await store.lastPosition();
      if (!fresh) return;
      expect(position).toBe(beginning);
      const page = await store.readLog({ after: beginning });
      expect(page.events).toEqual([]);
    });

    describe('appending', () => appendingConforms(under));
    describe('reading streams', () => readingConforms(under));
    describe('reading the log', () => logConforms(under));
    describe('the last event', () => lastEventConforms(under));
    describe('subscribing', () => subscribingConforms(under));
    describe('losing connections', () => recoveryConforms(under));
  });
}
